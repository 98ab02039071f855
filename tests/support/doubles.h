/* SPDX-License-Identifier: Apache-2.0 */
/* doubles.h - elementwise operators of f32, f16 and bf16 in double: several times as fast as
 * quick.h's long doubles, which are the answer where a double has lost digits. */
#ifndef VJP_TESTS_DOUBLES_H
#define VJP_TESTS_DOUBLES_H

#include "problem.h"

/* doubles_factors - what quick_factor finds, at n finite points; `depends` is what it returns. The
 * relative error is below 2^-36, which is 2^-12 ULP of f32; where no gradient of f32 brings the
 * result into its range, it is 0 or infinite all the same. test_doubles.c compares the two. */
void doubles_factors(const problem *p, int32_t output, int64_t n, const double *x, const double *w,
                     double *factors, unsigned char *depends);

#endif
