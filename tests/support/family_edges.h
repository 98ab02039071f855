/* SPDX-License-Identifier: Apache-2.0 */
/* family_edges.h - what every activation gives at its edges, one row for each. */
#ifndef VJP_TESTS_FAMILY_EDGES_H
#define VJP_TESTS_FAMILY_EDGES_H

#include <stdint.h>

typedef enum edge_kind {
    EDGE_PLUS_ZERO, /* +0 for any gradient, infinite and NaN too */
    EDGE_TIMES,     /* a finite gradient times `value`, rounded once */
    EDGE_IS,        /* `value` rounded to the dtype, for a gradient of 1 or without one */
    EDGE_ZERO,      /* 0 of either sign, for the gradient `value` */
    EDGE_TRUE       /* within the stated bound of the true value, for the gradient `value` */
} edge_kind;

typedef struct family_edge {
    const char *op, *attrs, *what;
    double x, w; /* w: the second input, of operators that have one */
    edge_kind kind;
    double value;
    int32_t output;
} family_edge;

extern const family_edge family_edges[];
extern const int64_t family_edge_count;

#endif
