/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - what the results should be, found independently of the library's formulas.
 *
 * The oracle knows the forward functions and differentiates them with dual numbers in long
 * double; sums are long double too, compensated. A new operator is a function and a line in
 * forward/. The error bounds are those that the library's enumeration states.
 */
#ifndef VJP_REFERENCE_ORACLE_H
#define VJP_REFERENCE_ORACLE_H

#include "bounds.h"
#include "problem.h"

/* Which values make sense for an input: any bit pattern; modest ones, because they are summed and
 * the bound is stated as long as no partial sum overflows; those above 0; those between 0 and 1; or
 * their logarithms. Each but the last is within the one before. */
typedef enum oracle_domain {
    ORACLE_ANY,
    ORACLE_MODEST,
    ORACLE_POSITIVE,
    ORACLE_FRACTION,
    ORACLE_LOGARITHM
} oracle_domain;

/* oracle_visit - receives the value and the bound of element `index`, in dense order, of `output`
 * (counted from 0 among the outputs). */
typedef void (*oracle_visit)(void *user, int32_t output, int64_t index, long double value,
                             bound within);

/* oracle_knows - whether the table has a line for the operator. */
int oracle_knows(const char *op);

/* oracle_home_domain - the narrowest domain among the inputs that live at the address of `home`. */
oracle_domain oracle_home_domain(const problem *p, int32_t home);

/* oracle_bound_info - the bound that the library states for an output of the problem.
 * oracle_bound - the same for one element: n terms were summed; `size` is the bound's magnitude or,
 * where it is in ULP, the magnitude of the terms that the oracle itself added up. */
const vjp_bound_info *oracle_bound_info(const problem *p, int32_t output);
bound oracle_bound(const problem *p, int32_t output, int64_t n, long double size);

/* oracle_ulps - the stated bound, in ULP, of an output; tighter for some operators if every
 * gradient is 1. */
long double oracle_ulps(const problem *p, int32_t output, int gradient_is_one);

/* oracle_answer - visit every element of every output that is wanted. inputs: the values in dense
 * order, each over its own tensor's shape. Strides and sharing do not matter here. */
void oracle_answer(const problem *p, const double *const *inputs, oracle_visit visit, void *user);

/* oracle_is_saved - whether an input is what the forward pass computed from the others.
 * oracle_save - its values, rounded to its dtype. */
int oracle_is_saved(const problem *p, int32_t input);
void oracle_save(const problem *p, const double *const *inputs, int32_t input, double *values);

/* oracle_param_strides - for every dim of the data, how far a dense PARAM tensor moves: 0 where it
 * is broadcast. */
void oracle_param_strides(const problem *p, int32_t tensor, int64_t strides[VJP_MAX_DIMS]);

/* The rows along the axis: n elements from `start`, `step` apart, in dense order, of which those
 * before `end` count. An elementwise operator has rows of one element. */
typedef struct oracle_row {
    int64_t index, start, n, step, end;
    int ignored; /* its label says so */
} oracle_row;

int64_t oracle_row_count(const problem *p);
int64_t oracle_row_length(const problem *p);
oracle_row oracle_row_at(const problem *p, const double *const *inputs, int64_t index);

/* oracle_flow - the sum of the gradient times the forward function's results: what the operator's
 * outputs are the derivatives of. oracle_is_forward - whether it is a function of the inputs, not
 * of the forward function's results. */
long double oracle_flow(const problem *p, const double *const *inputs);
int oracle_is_forward(const problem *p);

/* oracle_forward - one element of the operator's forward function, where it has an elementwise
 * one; w is its second variable and ignored by those that have none. */
long double oracle_forward(const problem *p, long double x, long double w);

#endif
