/* SPDX-License-Identifier: Apache-2.0 */
/* double_number.h - the words of reference/number.h over doubles, for results of f32 and less at
 * finite inputs: x87's functions take several times as long. */
#ifndef VJP_TESTS_DOUBLE_NUMBER_H
#define VJP_TESTS_DOUBLE_NUMBER_H

#include <math.h>

typedef double number;
typedef double magnitude;

enum {
    NUMBER_HAS_SPARE_DIGITS = 1 /* doubles.c notices where they are used up */
};

static inline number number_from(double a) { return a; }
static inline number number_from_long(long double a) { return (double)a; }
static inline double number_value(number a) { return a; }
static inline magnitude number_magnitude(number a) { return fabs(a); }
static inline number number_add(number a, number b) { return a + b; }
static inline number number_subtract(number a, number b) { return a - b; }
static inline number number_multiply(number a, number b) { return a * b; }
static inline number number_divide(number a, number b) { return a / b; }
static inline number number_log(number a) { return log(a); }
static inline number number_log_1_plus(number a) { return log1p(a); }
static inline number number_root(number a) { return sqrt(a); }
static inline number number_exp_less_1(number a) { return expm1(a); }
static inline number number_pi(void) { return 3.14159265358979323846; }

/* Kept from 0 and infinity, as in number.h, for finite numbers alone. Times all else that
 * a result is a product of, at most x^3, w and a gradient, these are still out of f32's range. */
static const number LEAST = 0x1p-900, MOST = 0x1p900;

static inline number number_exp(number a)
{
    const number far = 623; /* log(MOST) */
    return a < -far ? LEAST : a > far ? MOST : exp(a);
}

static inline number number_exp_product(number a, number b)
{
    number product = a * b, lost = fabs(product) < 1000 ? fma(a, b, -product) : 0;
    return number_exp(product) * (1 + lost);
}

/* At -36, where it reaches LEAST, the rounding of the division costs 2^-42 of the result. */
static inline number number_normal(number a)
{
    number share = 0.5 * erfc(-a / 1.41421356237309504880);
    return share < LEAST ? LEAST : share;
}

#endif
