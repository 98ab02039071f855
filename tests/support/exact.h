/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - the oracle's answers by MPFR, with far more digits and range than any dtype has, and
 * how far a result is from them.
 */
#ifndef VJP_TESTS_EXACT_H
#define VJP_TESTS_EXACT_H

#include <mpfr.h>

#include "problem.h"

enum {
    EXACT_BITS = 192
};

/* exact_knows - whether the operator is elementwise: a function of its inputs, or slope * g, where
 * the slope depends on the other inputs alone, or +0 where the function is flat. */
int exact_knows(const char *op);

/* exact_factor - what the gradient is multiplied by for an output, at a finite x (w: the other
 * input that is differentiated, if any); without a gradient, the output. Returns 0 where the
 * function is flat, whatever the gradient that flows back; `factor` is then 0. */
int exact_factor(const problem *p, int32_t output, double x, double w, mpfr_t factor);

/* exact_answer - visit every element of every output that depends on finite inputs alone and has a
 * finite value, as oracle_answer does but with MPFR's values. Sums of products are exact. */
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
