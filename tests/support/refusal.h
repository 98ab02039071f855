/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h - requests that must be refused, with their status and the words of the reason. */
#ifndef VJP_TESTS_REFUSAL_H
#define VJP_TESTS_REFUSAL_H

#include "problem.h"

/* The context of all refusals, and the group fixtures that open and close it. */
extern vjp_context *refusal_context;
int refusal_open(void **state);
int refusal_close(void **state);

/* The words that a reason must have; NULL ends the list early. */
typedef struct words {
    const char *of[4];
} words;

#define WORDS(...) ((words){ { __VA_ARGS__ } })

void check_reason(const char *reason, words wanted);

/* What *plan holds before a refusal: it must be NULL afterwards. */
extern vjp_plan *const NOT_A_PLAN;

/* refused - plan creation refuses the problem. accepted - it does not, so that a test may start
 * from it; returns it. */
void refused(const problem *p, vjp_status status, words wanted);
problem accepted(problem p);

/* refusal_any - a small valid problem of any operator. */
problem refusal_any(const vjp_op_info *op);

/* refusal_shaped - data of this shape, rows of what is left of it, 1-D parameters of its last dim
 * or along the axis;
 * strides are those of dense tensors, cut to 64 bits. It is not checked. */
problem refusal_shaped(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape);

/* Problems to start from: a map and a row operator over (2, 5), a fold over (2, 5, 7) with a 1-D
 * parameter. The latter two are not checked: axis, format and params may be wrong on purpose. */
problem refusal_map(void);
problem refusal_row(int64_t axis);
problem refusal_fold(const char *format, int64_t params);

#endif
