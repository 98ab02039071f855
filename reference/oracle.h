/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - what the gradients should be, found independently of the library's formulas.
 *
 * The oracle knows the forward functions and differentiates them with dual numbers in long
 * double; sums are long double too, compensated. A new operator is one line in its table.
 */
#ifndef VJP_REFERENCE_ORACLE_H
#define VJP_REFERENCE_ORACLE_H

#include "bounds.h"
#include "problem.h"

/* Which values make sense for an input: any bit pattern; modest ones, because they are summed and
 * the bound is stated as long as no partial sum overflows; or those between 0 and 1. Each lies within
 * the one before. */
typedef enum oracle_domain {
    ORACLE_ANY,
    ORACLE_MODEST,
    ORACLE_FRACTION
} oracle_domain;

/* oracle_visit - told the value and the bound of element `index`, in dense order, of `output`
 * (counted from 0 among the outputs). */
typedef void (*oracle_visit)(void *user, int32_t output, int64_t index, long double value,
                             bound within);

/* oracle_knows - whether the table has a line for the operator. */
int oracle_knows(const char *op);

/* oracle_home_domain - the narrowest domain among the inputs that live at the address of `home`. */
oracle_domain oracle_home_domain(const problem *p, int32_t home);

/* oracle_ulps - the stated bound, in ULP, of an elementwise output; tighter for some operators if
 * every gradient is 1. 0.5 means correctly rounded, ties too. */
long double oracle_ulps(const problem *p, int gradient_is_one);

/* oracle_answer - visit every element of every output. inputs: the values in dense order, each
 * over its own tensor's shape. Strides and sharing do not matter here. */
void oracle_answer(const problem *p, const double *const *inputs, oracle_visit visit, void *user);

/* oracle_slope_strides - for every dim of the data, how far a dense slope (tensor 1) moves: 0
 * where it is broadcast. */
void oracle_slope_strides(const problem *p, int64_t strides[VJP_MAX_DIMS]);

/* The rows along the attribute axis: n elements from `start`, `step` apart, in dense order. */
typedef struct oracle_row {
    int64_t start, n, step;
} oracle_row;

int64_t oracle_row_count(const problem *p);
oracle_row oracle_row_at(const problem *p, int64_t index);

/* oracle_forward - one element of the operator's forward function, where it has an elementwise
 * one; w is a parameter and ignored by those that have none. */
long double oracle_forward(const problem *p, long double x, long double w);

#endif
