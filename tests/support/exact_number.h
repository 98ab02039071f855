/* SPDX-License-Identifier: Apache-2.0 */
/* exact_number.h - the words of reference/number.h over MPFR's numbers. A number is one of a pool
 * that grows as needed; number_release gives back those made since a mark. */
#ifndef VJP_TESTS_EXACT_NUMBER_H
#define VJP_TESTS_EXACT_NUMBER_H

#include <float.h>
#include <math.h>
#include <mpfr.h>

#include "base.h"
#include "exact.h"

enum {
    POOL_CHUNK = 256,
    POOL_CHUNKS = 64,
    SUM_BITS = 4700 /* any sum of products of two doubles, exactly */
};

typedef mpfr_ptr number;
typedef long double magnitude;

static _Thread_local struct pool {
    mpfr_t *chunks[POOL_CHUNKS];
    int initialised, used;
} pool;

static inline number pool_at(int i) { return pool.chunks[i / POOL_CHUNK][i % POOL_CHUNK]; }

static inline number number_fresh(void)
{
    if (pool.used == POOL_CHUNKS * POOL_CHUNK)
        broken("an element takes more than %d numbers", pool.used);
    if (pool.used == pool.initialised) {
        if (pool.used % POOL_CHUNK == 0)
            pool.chunks[pool.used / POOL_CHUNK] = unit_malloc(POOL_CHUNK * sizeof(mpfr_t));
        mpfr_init2(pool_at(pool.initialised++), EXACT_BITS);
    }
    return pool_at(pool.used++);
}

static inline int number_mark(void) { return pool.used; }
static inline void number_release(int mark) { pool.used = mark; }

static inline number number_from(double a)
{
    number result = number_fresh();
    mpfr_set_d(result, a, MPFR_RNDN);
    return result;
}

enum {
    NUMBER_HAS_SPARE_DIGITS = 1
};

static inline number number_from_long(long double a)
{
    number result = number_fresh();
    mpfr_set_ld(result, a, MPFR_RNDN);
    return result;
}

static inline number number_pi(void)
{
    number result = number_fresh();
    mpfr_const_pi(result, MPFR_RNDN);
    return result;
}

static inline long double number_value(number a) { return mpfr_get_ld(a, MPFR_RNDN); }
static inline magnitude number_magnitude(number a) { return fabsl(number_value(a)); }

#define BINARY(name, function)                        \
    static inline number name(number a, number b)     \
    {                                                 \
        number result = number_fresh();               \
        function(result, a, b, MPFR_RNDN);            \
        return result;                                \
    }
BINARY(number_add, mpfr_add)
BINARY(number_subtract, mpfr_sub)
BINARY(number_multiply, mpfr_mul)
BINARY(number_divide, mpfr_div)
#undef BINARY

#define UNARY(name, function)                         \
    static inline number name(number a)               \
    {                                                 \
        number result = number_fresh();               \
        function(result, a, MPFR_RNDN);               \
        return result;                                \
    }
UNARY(number_log, mpfr_log)
UNARY(number_log_1_plus, mpfr_log1p)
UNARY(number_root, mpfr_sqrt)
UNARY(number_exp_less_1, mpfr_expm1)
UNARY(number_complement_of_error, mpfr_erfc)
#undef UNARY

/* A positive function of a finite number is never 0 nor infinite, not even after a few products: a
 * sign would be lost. */
static inline number number_kept_positive(number result, number a)
{
    enum {
        MOST = 1000000
    };
    if (!mpfr_number_p(a))
        return result;
    if (mpfr_zero_p(result) || (mpfr_number_p(result) && mpfr_get_exp(result) < -MOST))
        mpfr_set_ui_2exp(result, 1, -MOST, MPFR_RNDN);
    if (mpfr_inf_p(result) || mpfr_get_exp(result) > MOST)
        mpfr_set_ui_2exp(result, 1, MOST, MPFR_RNDN);
    return result;
}

static inline number number_exp(number a)
{
    number result = number_fresh();
    mpfr_exp(result, a, MPFR_RNDN);
    return number_kept_positive(result, a);
}

static inline number number_exp_product(number a, number b)
{
    return number_exp(number_multiply(a, b));
}

static inline number number_normal(number a)
{
    number half = number_from(0.5), z = number_multiply(a, number_root(half));
    z = number_subtract(number_from(0), z);
    return number_kept_positive(number_multiply(half, number_complement_of_error(z)), a);
}

/* Exact for products of doubles. */
typedef struct total {
    mpfr_t sum;
} total;

static inline void total_start(total *t)
{
    mpfr_init2(t->sum, SUM_BITS);
    mpfr_set_zero(t->sum, 1);
}

static inline void total_end(total *t) { mpfr_clear(t->sum); }
static inline void total_add(total *t, number term) { mpfr_add(t->sum, t->sum, term, MPFR_RNDN); }

static inline number total_number(const total *t)
{
    number result = number_fresh();
    mpfr_set(result, t->sum, MPFR_RNDN);
    return result;
}

#endif
