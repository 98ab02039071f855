/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - elementwise gradients by MPFR, with far more digits and range than any dtype has,
 * and how far a result is from them.
 *
 * Every elementwise gradient is slope * g, where the slope depends on the input alone, or is +0
 * where the function is flat.
 */
#ifndef VJP_TESTS_EXACT_H
#define VJP_TESTS_EXACT_H

#include <mpfr.h>

#include "problem.h"

enum {
    EXACT_BITS = 192
};

/* exact_knows - whether the operator is elementwise: slopes.h has its line. */
int exact_knows(const char *op);

/* exact_slope - the derivative at a finite x (w: the parameter, if any). Returns 0 where it is
 * flat, whatever the gradient that flows back; `slope` is then 0. */
int exact_slope(const problem *p, double x, double w, mpfr_t slope);

/* exact_answer - visit every element of every output that hangs on finite inputs alone, as
 * oracle_answer does but with MPFR's values. Sums are exact. */
typedef void (*exact_visit)(void *user, int32_t output, int64_t index, mpfr_srcptr value);

void exact_answer(const problem *p, const double *const *inputs, exact_visit visit, void *user);

/* exact_error - |got - exact| in units of the dtype's last place at the exact value. An infinity
 * counts as the number after the largest, and is exact beyond it. */
double exact_error(vjp_dtype dtype, mpfr_srcptr exact, double got);

/* exact_rounded - the dtype's value nearest to the exact one, to even in a tie, infinite
 * beyond the range. exact_rounded_to - the nearest above (MPFR_RNDU) or below (MPFR_RNDD), where
 * an infinity counts as the number after the largest. */
double exact_rounded(vjp_dtype dtype, mpfr_srcptr exact);
double exact_rounded_to(vjp_dtype dtype, mpfr_srcptr exact, mpfr_rnd_t direction);

/* exact_close - free what the calling thread has kept for the next question. */
void exact_close(void);

#endif
