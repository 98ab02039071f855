/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c - the outputs of a case, and the range of values that are accepted. */
#include <math.h>
#include <stdlib.h>

#include "base.h"
#include "dtypes.h"
#include "exact.h"
#include "oracle.h"
#include "vectors.h"

typedef struct search {
    const problem *p;
    answer *answers;
} search;

static vjp_dtype output_dtype(const search *s, int32_t output)
{
    return s->p->tensors[s->p->op->ninputs + output].dtype;
}

/* All numbers of the dtype from exact - width to exact + width. */
static void allow(vjp_dtype dtype, mpfr_srcptr exact, long double width, double *low, double *high)
{
    mpfr_t end;
    mpfr_init2(end, EXACT_BITS);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_sub(end, exact, end, MPFR_RNDD);
    *low = exact_rounded_to(dtype, end, MPFR_RNDU);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_add(end, exact, end, MPFR_RNDU);
    *high = exact_rounded_to(dtype, end, MPFR_RNDD);
    mpfr_clear(end);
}

/* In f32 before it is rounded to 16 bits. */
static void allow_rounded(vjp_dtype dtype, mpfr_srcptr exact, long double width, double *low,
                          double *high)
{
    mpfr_t end;
    mpfr_init2(end, EXACT_BITS);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_sub(end, exact, end, MPFR_RNDN);
    *low = exact_rounded(dtype, end);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_add(end, exact, end, MPFR_RNDN);
    *high = exact_rounded(dtype, end);
    mpfr_clear(end);
}

/* A result of one index has the sign of the exact value even if it is 0. */
static void keep_exact(void *user, int32_t output, int64_t index, mpfr_srcptr exact)
{
    const search *s = user;
    answer *a = &s->answers[output];
    vjp_dtype dtype = output_dtype(s, output);
    bound within = a->within[index];
    double *low = &a->low[index], *high = &a->high[index];
    a->expected[index] = *low = *high = exact_rounded(dtype, exact);
    if (within.absolute >= 0 && dtype_is_16_bit(dtype)) {
        allow_rounded(dtype, exact, within.absolute, low, high);
    } else if (within.absolute >= 0) {
        allow(dtype, exact, within.absolute, low, high);
        *low = fmin(*low, a->expected[index]);
        *high = fmax(*high, a->expected[index]);
    } else if (within.ulps > 0.5L) {
        allow(dtype, exact, within.ulps * dtype_ulp(dtype, mpfr_get_ld(exact, MPFR_RNDZ)), low,
              high);
        if (!mpfr_signbit(exact) && (*low < 0 || *low == 0))
            *low = 0.0;
        if (mpfr_signbit(exact) && (*high > 0 || *high == 0))
            *high = -0.0;
    }
}

/* NaN, infinities and zeros: the value itself, and nothing else. Other values are there to stay
 * where an input is infinite: MPFR computes only finite inputs. */
static void keep_oracle(void *user, int32_t output, int64_t index, long double value, bound within)
{
    const search *s = user;
    answer *a = &s->answers[output];
    double rounded = dtype_round(output_dtype(s, output), value);
    mpfr_t exact;
    a->expected[index] = a->low[index] = a->high[index] = rounded;
    a->within[index] = within;
    if (!isfinite(value) || value == 0)
        return;
    mpfr_init2(exact, EXACT_BITS);
    mpfr_set_ld(exact, value, MPFR_RNDN);
    keep_exact(user, output, index, exact);
    mpfr_clear(exact);
}

void answers_find(const problem *p, double *const *inputs, answer *answers)
{
    search s = { p, answers };
    for (int32_t o = 0; o < p->op->noutputs; o++) {
        size_t n = (size_t)tensor_count(&p->tensors[p->op->ninputs + o]);
        answer *a = &answers[o];
        a->expected = unit_malloc(n * sizeof(double));
        a->low = unit_malloc(n * sizeof(double));
        a->high = unit_malloc(n * sizeof(double));
        a->within = unit_malloc(n * sizeof(bound));
    }
    oracle_answer(p, (const double *const *)inputs, keep_oracle, &s);
    exact_answer(p, (const double *const *)inputs, keep_exact, &s);
}

void answers_free(const problem *p, answer *answers)
{
    for (int32_t o = 0; o < p->op->noutputs; o++) {
        free(answers[o].expected);
        free(answers[o].low);
        free(answers[o].high);
        free(answers[o].within);
    }
}
