/* SPDX-License-Identifier: Apache-2.0 */
/* exact.c - see exact.h. */
#include "exact.h"

#include <math.h>
#include <string.h>

#include "dtypes.h"
#include "unit.h"

static int relu(const problem *p, double x, double w, mpfr_t slope)
{
    (void)p, (void)w;
    mpfr_set_d(slope, x > 0 ? 1 : 0, MPFR_RNDN);
    return x > 0;
}

static int prelu(const problem *p, double x, double w, mpfr_t slope)
{
    (void)p;
    mpfr_set_d(slope, x > 0 ? 1 : w, MPFR_RNDN);
    return 1;
}

static int hard_sigmoid(const problem *p, double x, double w, mpfr_t slope)
{
    (void)w;
    float alpha = problem_attr(p, "alpha").value.f32, beta = problem_attr(p, "beta").value.f32;
    double line = p->tensors[0].dtype == VJP_F64 ? fma((double)alpha, x, (double)beta)
                                                 : (double)fmaf(alpha, (float)x, beta);
    int inside = line > 0 && line < 1;
    mpfr_set_d(slope, inside ? (double)alpha : 0, MPFR_RNDN);
    return inside;
}

/* e / (1 + e)^2 with e = exp(-|x|) */
static void sigmoid_from_src(double x, mpfr_t slope)
{
    mpfr_t square;
    mpfr_init2(square, EXACT_BITS);
    mpfr_set_d(slope, -fabs(x), MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_add_ui(square, slope, 1, MPFR_RNDN);
    mpfr_sqr(square, square, MPFR_RNDN);
    mpfr_div(slope, slope, square, MPFR_RNDN);
    mpfr_clear(square);
}

static int sigmoid(const problem *p, double x, double w, mpfr_t slope)
{
    (void)w;
    if (!problem_attr(p, "use_dst").value.b) {
        sigmoid_from_src(x, slope);
        return 1;
    }
    mpfr_set_d(slope, x, MPFR_RNDN);
    mpfr_ui_sub(slope, 1, slope, MPFR_RNDN);
    mpfr_mul_d(slope, slope, x, MPFR_RNDN);
    return 1;
}

int exact_slope(const problem *p, double x, double w, mpfr_t slope)
{
    static const struct {
        const char *op;
        int (*slope)(const problem *p, double x, double w, mpfr_t slope);
    } slopes[] = {
        { "relu_backward", relu },
        { "prelu_backward", prelu },
        { "hard_sigmoid_backward", hard_sigmoid },
        { "sigmoid_backward", sigmoid },
    };
    for (int64_t i = 0; i < COUNT_OF(slopes); i++)
        if (strcmp(slopes[i].op, p->op->name) == 0)
            return slopes[i].slope(p, x, w, slope);
    fail_msg("no exact slope for %s", p->op->name);
    return 0;
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

double exact_rounded(vjp_dtype dtype, mpfr_srcptr exact)
{
    if (dtype == VJP_F64)
        return mpfr_get_d(exact, MPFR_RNDN);
    return dtype_round(dtype, mpfr_get_ld(exact, MPFR_RNDN)); /* no digits lost: 24 * 24 < 64 */
}
