/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - the oracle's numbers as long doubles. exact_number.h of the tests has the same words
 * over MPFR's numbers; dual.h, forward.h and answer.h are written over either. */
#ifndef VJP_REFERENCE_NUMBER_H
#define VJP_REFERENCE_NUMBER_H

#include <math.h>

typedef long double number;

static inline number number_from(double a) { return a; }
static inline long double number_value(number a) { return a; }
static inline number number_add(number a, number b) { return a + b; }
static inline number number_subtract(number a, number b) { return a - b; }
static inline number number_multiply(number a, number b) { return a * b; }
static inline number number_divide(number a, number b) { return a / b; }
static inline number number_log(number a) { return logl(a); }
static inline number number_log_1_plus(number a) { return log1pl(a); }
static inline number number_root(number a) { return sqrtl(a); }

/* The exponential of a finite number is never 0, not even after a few products, else an infinite
 * gradient would become NaN. */
static inline number number_exp(number a)
{
    number e = expl(a);
    return e < 0x1p-12000L && isfinite(a) ? 0x1p-12000L : e;
}

/* Numbers made since a mark are given back; long doubles need not be. */
static inline int number_mark(void) { return 0; }
static inline void number_release(int mark) { (void)mark; }

/* Neumaier's compensated sum: the oracle's own error must vanish beside f64's bound. */
typedef struct total {
    long double plain, lost;
} total;

static inline void total_start(total *sum) { *sum = (total){ 0, 0 }; }
static inline void total_end(total *sum) { (void)sum; }

static inline void total_add(total *sum, number term)
{
    long double before = sum->plain;
    sum->plain += term;
    sum->lost +=
        fabsl(before) >= fabsl(term) ? (before - sum->plain) + term : (term - sum->plain) + before;
}

static inline number total_number(const total *sum)
{
    return isfinite(sum->plain) ? sum->plain + sum->lost : sum->plain;
}

#endif
