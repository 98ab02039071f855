/* SPDX-License-Identifier: Apache-2.0 */
/* quick.h - elementwise gradients in long double: some 64 right bits in some tens of nanoseconds,
 * for tests that ask thousands of millions of times. What comes near a bound is for exact.h. */
#ifndef VJP_TESTS_QUICK_H
#define VJP_TESTS_QUICK_H

#include "problem.h"

/* quick_slope - the derivative at a finite x, as exact_slope. */
int quick_slope(const problem *p, double x, double w, long double *slope);

#endif
