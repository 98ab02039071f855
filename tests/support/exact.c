/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - see exact.h. */
#include "exact.h"

#include <math.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"

/* Numbers live in a small pool until the next question: no slope needs more of them. */
enum {
    MOST_NUMBERS = 16
};
typedef mpfr_ptr number;

static _Thread_local mpfr_t pool[MOST_NUMBERS];
static _Thread_local int initialised, used;

static number fresh(void)
{
    if (used == MOST_NUMBERS)
        broken("a slope takes more than %d numbers", MOST_NUMBERS);
    if (used == initialised)
        mpfr_init2(pool[initialised++], EXACT_BITS);
    return pool[used++];
}

static number from(double a)
{
    number result = fresh();
    mpfr_set_d(result, a, MPFR_RNDN);
    return result;
}

static number add(number a, number b)
{
    number result = fresh();
    mpfr_add(result, a, b, MPFR_RNDN);
    return result;
}

static number subtract(number a, number b)
{
    number result = fresh();
    mpfr_sub(result, a, b, MPFR_RNDN);
    return result;
}

static number multiply(number a, number b)
{
    number result = fresh();
    mpfr_mul(result, a, b, MPFR_RNDN);
    return result;
}

static number divide(number a, number b)
{
    number result = fresh();
    mpfr_div(result, a, b, MPFR_RNDN);
    return result;
}

static number exponential(number a)
{
    number result = fresh();
    mpfr_exp(result, a, MPFR_RNDN);
    return result;
}

#include "slopes.h"

int exact_knows(const char *op)
{
    return find_slope(op) != NULL;
}

int exact_slope(const problem *p, double x, double w, mpfr_t slope)
{
    slope_function *function = find_slope(p->op->name);
    number result = NULL;
    if (function == NULL)
        broken("no exact slope for %s", p->op->name);
    used = 0;
    int depends = function(p, x, w, &result);
    if (depends)
        mpfr_set(slope, result, MPFR_RNDN);
    else
        mpfr_set_zero(slope, 1);
    return depends;
}

void exact_close(void)
{
    while (initialised > 0)
        mpfr_clear(pool[--initialised]);
    mpfr_free_cache();
}

double exact_error(vjp_dtype dtype, mpfr_srcptr exact, double got)
{
    if (isnan(got))
        return INFINITY;
    double limit = dtype_max(dtype);
    /* Rounding towards zero keeps the exact value in its binade. */
    long double value = mpfr_get_ld(exact, MPFR_RNDZ), unit = dtype_ulp(dtype, value);
    if (isinf(got) && fabsl(value) >= limit + dtype_ulp(dtype, limit))
        return is_negative(got) == is_negative(value) ? 0 : INFINITY;
    mpfr_t distance;
    mpfr_init2(distance, EXACT_BITS);
    if (isinf(got)) /* in two steps: for f64 the place of infinity is no double */
        mpfr_sub_d(distance, exact, copysign((double)dtype_ulp(dtype, limit), got), MPFR_RNDN);
    mpfr_sub_d(distance, isinf(got) ? distance : exact, isinf(got) ? copysign(limit, got) : got,
               MPFR_RNDN);
    mpfr_mul_2si(distance, distance, -ilogbl(unit), MPFR_RNDN);
    double error = fabs(mpfr_get_d(distance, MPFR_RNDA));
    mpfr_clear(distance);
    return error;
}

/* In units of the last place, rounded to an integer; may be one beyond the largest number. */
static double rounded_in_units(vjp_dtype dtype, mpfr_srcptr exact, mpfr_rnd_t direction)
{
    int unit = ilogbl(dtype_ulp(dtype, mpfr_get_ld(exact, MPFR_RNDZ)));
    mpfr_t units;
    mpfr_init2(units, EXACT_BITS);
    mpfr_mul_2si(units, exact, -unit, MPFR_RNDN);
    mpfr_rint(units, units, direction);
    mpfr_mul_2si(units, units, unit, MPFR_RNDN);
    double rounded = mpfr_get_d(units, MPFR_RNDN);
    mpfr_clear(units);
    return rounded;
}

double exact_rounded(vjp_dtype dtype, mpfr_srcptr exact)
{
    double rounded = rounded_in_units(dtype, exact, MPFR_RNDN);
    return fabs(rounded) > dtype_max(dtype) ? copysign(INFINITY, rounded) : rounded;
}

double exact_rounded_to(vjp_dtype dtype, mpfr_srcptr exact, mpfr_rnd_t direction)
{
    double rounded = rounded_in_units(dtype, exact, direction);
    if (fabs(rounded) <= dtype_max(dtype))
        return rounded;
    return copysign(INFINITY, rounded);
}
