/* SPDX-License-Identifier: Apache-2.0 */
/* shaped.h - problems from tables of shapes, for every operator.
 *
 * A row of a table is for one kind of operator, and makes one problem. Rows cycle through the
 * operators of that kind; where there are more operators than rows, some are left out: what depends
 * on the size of a tensor does not depend on the formula.
 */
#ifndef VJP_REFERENCE_SHAPED_H
#define VJP_REFERENCE_SHAPED_H

#include "named.h"

typedef enum shaped_kind {
    SHAPED_MAP,  /* elementwise, without parameters */
    SHAPED_FOLD, /* elementwise, with parameters */
    SHAPED_ROW,  /* along an axis; a parameter runs along it too */
    SHAPED_KINDS
} shaped_kind;

typedef struct shaped_row {
    const char *name;
    shaped_kind kind;
    vjp_dtype dtype, wide;
    named_layout layout;
    int32_t place; /* the dim that rows run along, or channels: then dim 1 or the last */
    int32_t ndim;
    int64_t shape[4];
    int32_t param_ndim;
    int64_t param_shape[3];
} shaped_row;

shaped_kind shaped_kind_of(const vjp_op_info *op);

enum {
    SHAPED_NAME = 128
};

typedef struct shaped_problem {
    char name[SHAPED_NAME]; /* the operator's and the row's */
    problem p;
} shaped_problem;

typedef struct shaped_list {
    shaped_problem *at;
    int64_t count;
} shaped_list;

/* shaped_problems - the problems of a table; to be freed. */
shaped_list shaped_problems(const shaped_row *rows, int64_t nrows);
void shaped_free(shaped_list *list);

#endif
