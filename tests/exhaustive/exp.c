/* SPDX-License-Identifier: Apache-2.0 */
/* exp.c - the library's own exponential, and the sigmoid's slope before diff_dst is multiplied in:
 * every float that they are called with, and 2^28 doubles.
 *
 * Compiled once for each compute type with VJPI_COMPUTE_F64 set, from the same source as the
 * kernels. Errors are in ULP of the exact value, as if exponents had no limits.
 *
 * Where exp(-|x|) is a normal number the result is slope * diff_dst, rounded once. A relative error
 * of k * 2^-24 (f64: 2^-53) of the slope then makes one of less than k + 0.5 ULP of the result,
 * whatever diff_dst is: a bound over all of them at once. */
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact.h"
#include "exhaustive.h"
#include "points.h"
#include "quick.h"

#define INLINE static inline
#define RARE static
#define UNROLL
#define EVERY
#define LETS_MADE 0
#include "core/limits.h"
#include "cpu/lanes_scalar.h"
#include "ops_counts.h"

#include "formulas.h"

/* This file measures one operator's own formula, sigmoid_vjp, and what that is made of. */
#define OPERATOR "sigmoid_backward"

enum {
    BLOCK = 1 << 14,
#if VJPI_COMPUTE_F64
    DIGITS = 53
#else
    DIGITS = 24
#endif
};

static void exp_block(void *state, const job *j, int64_t index, worst w[WORSTS]);

/* How far arguments go: the exponential's to FURTHEST, the slope's to LATE. */
static double reach_of(const job *j)
{
    return j->method->block == exp_block ? FURTHEST : LATE;
}

static int64_t blocks(const job *j)
{
#if VJPI_COMPUTE_F64
    (void)j;
    return ((int64_t)1 << 28) / BLOCK;
#else
    float last = (float)reach_of(j);
    uint32_t bits;
    memcpy(&bits, &last, sizeof bits);
    return bits / BLOCK + 1;
#endif
}

static void *open_exp(const job *j)
{
    points *list = malloc(sizeof *list);
    if (list == NULL)
        abort();
    *list = points_list(&j->p);
    return list;
}

/* Number `index` of those from -reach to 0, or one below them. */
static double argument(const points *list, const job *j, random_state *random, int64_t index)
{
#if VJPI_COMPUTE_F64
    (void)index;
    double t = -fabs(point_draw(random, j->dtype, list));
    return t >= -reach_of(j) ? t : -random_unit(random) * reach_of(j);
#else
    (void)list, (void)j, (void)random;
    return -(double)from_bits((uint32_t)index);
#endif
}

/* The power is 2^n * m; its error at the place where exp(t) is, by MPFR. */
static double error_by_mpfr(double t, double m, long n)
{
    mpfr_t exact;
    mpfr_init2(exact, 192);
    mpfr_set_d(exact, t, MPFR_RNDN);
    mpfr_exp(exact, exact, MPFR_RNDN);
    long unit = mpfr_get_exp(exact) - DIGITS;
    mpfr_mul_2si(exact, exact, -n, MPFR_RNDN);
    mpfr_sub_d(exact, exact, m, MPFR_RNDN);
    mpfr_mul_2si(exact, exact, n - unit, MPFR_RNDN);
    double error = fabs(mpfr_get_d(exact, MPFR_RNDA));
    mpfr_clear(exact);
    return error;
}

static void exp_block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    for (int64_t i = 0; i < BLOCK; i++) {
        double t = argument(state, j, &random, index * BLOCK + i);
        if (!(t >= -reach_of(j)))
            continue;
        V z, m = exp_split((V)t, &z);
        long n = (long)(z - (V)MAGIC);
        long double exact = expl(t);
        long double distance = fabsl(ldexpl((long double)m, (int)n) - exact);
        double error = (double)ldexpl(distance, DIGITS - 1 - ilogbl(exact));
        if (error <= w[ANY_GRADIENT].error)
            continue;
        worst this = { error_by_mpfr(t, (double)m, n), t, 0, 0, ldexp((double)m, (int)n),
                       index * BLOCK + i };
        worst_join(&w[ANY_GRADIENT], &this);
    }
}

static double slope_error(const job *j, double x, double got)
{
    mpfr_t exact, distance;
    mpfr_inits2(EXACT_BITS, exact, distance, (mpfr_ptr)NULL);
    exact_factor(&j->p, 0, x, 0, exact);
    mpfr_sub_d(distance, exact, got, MPFR_RNDN);
    mpfr_div(distance, distance, exact, MPFR_RNDN);
    mpfr_mul_2si(distance, distance, DIGITS, MPFR_RNDN);
    double error = fabs(mpfr_get_d(distance, MPFR_RNDA)) + 0.5;
    mpfr_clears(exact, distance, (mpfr_ptr)NULL);
    return error;
}

static void slope_block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    for (int64_t i = 0; i < BLOCK; i++) {
        double x = argument(state, j, &random, index * BLOCK + i);
        long double exact;
        if (!(x > -reach_of(j)))
            continue;
        double got = (double)sigmoid_vjp((V)x, 1);
        quick_slope(&j->p, x, 0, &exact);
        if ((double)ldexpl(fabsl(got - exact) / exact, DIGITS) + 0.5 <= w[ANY_GRADIENT].error)
            continue;
        worst this = { slope_error(j, x, got), x, 0, 0, got, index * BLOCK + i };
        worst_join(&w[ANY_GRADIENT], &this);
    }
}

static void close_exp(void *state)
{
    points_free(state);
    exact_close();
    free(state);
}

static void where(const job *j, const worst *w, char text[WHERE_TEXT])
{
    (void)j;
    snprintf(text, WHERE_TEXT, "src = %a", w->x);
}

/* The exponential has no bound of its own; the slope has the result's. */
#if VJPI_COMPUTE_F64
const part parts_f64[PARTS] = {
    { "exp", OPERATOR, VJP_F64,
      { "2^28 adversarial points", blocks, open_exp, exp_block, close_exp, where }, 0 },
    { OPERATOR " use_dst=0, the slope", OPERATOR, VJP_F64,
      { "2^28 adversarial points, up to 600, any gradient", blocks, open_exp, slope_block,
        close_exp, where }, 1 },
};
#else
const part parts_f32[PARTS] = {
    { "exp", OPERATOR, VJP_F32,
      { "all floats from -194 to 0", blocks, open_exp, exp_block, close_exp, where }, 0 },
    { OPERATOR " use_dst=0, the slope", OPERATOR, VJP_F32,
      { "all floats up to 66, any gradient", blocks, open_exp, slope_block, close_exp, where }, 1 },
};
#endif
