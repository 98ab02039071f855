/* SPDX-License-Identifier: Apache-2.0 */
/* quick.h - elementwise operators in long double: about 64 correct bits in tens of nanoseconds, for
 * billions of points. The tests compute results near a bound again with MPFR. */
#ifndef VJP_REFERENCE_QUICK_H
#define VJP_REFERENCE_QUICK_H

#include "problem.h"

/* quick_factor - what the gradient is multiplied by for an output, at a finite x (w: the other input
 * that is differentiated, if any); without a gradient, the output. Returns 0 where the function is
 * flat, whatever the gradient that flows back; `factor` is then 0. */
int quick_factor(const problem *p, int32_t output, double x, double w, long double *factor);

/* quick_slope - the derivative of the function itself by x. Returns 0 where it is flat. */
int quick_slope(const problem *p, double x, double w, long double *slope);

#endif
