/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - the oracle's numbers as long doubles. Of the tests, exact_number.h has the same words
 * over MPFR's numbers and double_number.h over doubles; dual.h, forward.h and answer.h are written
 * over any of them. */
#ifndef VJP_REFERENCE_NUMBER_H
#define VJP_REFERENCE_NUMBER_H

#include <math.h>

#include "product.h"

typedef long double number;
typedef long double magnitude; /* of a number: its digits do not matter */

/* Whether there are digits to spare for what is lost next to a root of a slope. */
enum {
    NUMBER_HAS_SPARE_DIGITS = 0
};

static inline number number_from(double a) { return a; }
static inline number number_from_long(long double a) { return a; }
static inline long double number_value(number a) { return a; }
static inline magnitude number_magnitude(number a) { return fabsl(a); }
static inline number number_add(number a, number b) { return a + b; }
static inline number number_subtract(number a, number b) { return a - b; }
static inline number number_multiply(number a, number b) { return a * b; }
static inline number number_divide(number a, number b) { return a / b; }
static inline number number_log(number a) { return logl(a); }
static inline number number_log_1_plus(number a) { return log1pl(a); }
static inline number number_root(number a) { return sqrtl(a); }
static inline number number_exp_less_1(number a) { return expm1l(a); }
static inline number number_pi(void) { return 3.14159265358979323846264338327950288L; }

/* The exponential of a finite number is never 0 nor infinite, not even after a few products, else
 * an infinite gradient or one of 0 would become NaN. */
static inline number number_exp(number a)
{
    const number least = 0x1p-12000L, most = 0x1p12000L;
    number e = expl(a);
    if (!isfinite(a))
        return e;
    return e < least ? least : e > most ? most : e;
}

/* exp(a * b): a rounding of the product would cost its size in ULP. */
static inline number number_exp_product(number a, number b)
{
    number product = a * b, lost = fabsl(product) < 12000 ? product_lost(a, b) : 0;
    return number_exp(product) * (1 + lost);
}

/* The normal distribution, by its complement at -a / sqrt(2): the root in two parts, and what the
 * division lost put back, for the same reason. Never 0 at a finite number, as the exponential. */
static inline number number_normal(number a)
{
    const number high = 0xb504f333f9de6484p-63L, low = 0xb2fb1366ea957d3ep-128L;
    number z = -a / high, slope = -2 / sqrtl(number_pi()) * expl(-z * z);
    number lost = isfinite(a) ? ((-z * high - a) - product_lost(z, high) - z * low) / high : 0;
    number share = 0.5L * (erfcl(z) + slope * lost);
    return isfinite(a) && share < 0x1p-12000L ? 0x1p-12000L : share;
}

/* Numbers made since a mark are released; nothing to do for long doubles. */
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
