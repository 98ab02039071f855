/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - see exact.h. The oracle's mathematics over MPFR's numbers. */
#include "exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "exact_number.h"
#include "kinds.h"
#include "oracle.h"

#include "dual.h"

#include "forward.h"

#include "answer.h"

int exact_knows(const char *op)
{
    const oracle_entry *entry = find_entry(op);
    return entry != NULL && entry->terms[0] == NULL;
}

int exact_factor(const problem *p, int32_t output, double x, double w, mpfr_t factor)
{
    const oracle_entry *entry = entry_of(p->op->name);
    double values[PROBLEM_TENSORS] = { 0 };
    scene s = { .p = p, .x = values, .count = 1 };
    int mark = number_mark(), by = output == 0 ? BY_X : BY_W;
    values[entry->by_x] = x;
    s.in[entry->by_x] = variable(number_from(x), BY_X);
    if (entry->by_w >= 0) {
        values[entry->by_w] = w;
        s.in[entry->by_w] = variable(number_from(w), BY_W);
    }
    dual y = function_of(entry)(&s);
    int depends = entry->forward == NULL || y.depends >> by & 1;
    if (depends)
        mpfr_set(factor, entry->forward == NULL ? y.value : y.rate[by], MPFR_RNDN);
    else
        mpfr_set_zero(factor, 1);
    number_release(mark);
    return depends;
}

typedef struct listener {
    exact_visit visit;
    void *user;
} listener;

static void tell(void *user, int32_t output, int64_t index, number value, bound within)
{
    const listener *to = user;
    (void)within;
    if (mpfr_number_p(value))
        to->visit(to->user, output, index, value);
}

void exact_answer(const problem *p, const double *const *inputs, exact_visit visit, void *user)
{
    listener to = { visit, user };
    answer(p, inputs, 1, tell, &to);
}

void exact_close(void)
{
    while (pool.initialised > 0)
        mpfr_clear(pool_at(--pool.initialised));
    for (int i = 0; i < POOL_CHUNKS; i++) {
        free(pool.chunks[i]);
        pool.chunks[i] = NULL;
    }
    pool.used = 0;
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
    if (isinf(got)) /* in two steps: for f64 the number after the largest is not a double */
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
