/* SPDX-License-Identifier: Apache-2.0 */
/* quick.h - elementwise operators in long double: about 64 correct bits in tens of nanoseconds, for
 * tests with billions of points. Results near a bound are computed again with exact.h. */
#ifndef VJP_TESTS_QUICK_H
#define VJP_TESTS_QUICK_H

#include "problem.h"

/* quick_factor - as exact_factor, of the first output. */
int quick_factor(const problem *p, double x, double w, long double *factor);

/* quick_slope - the derivative of the function itself. Returns 0 where it is flat. */
int quick_slope(const problem *p, double x, double w, long double *slope);

#endif
