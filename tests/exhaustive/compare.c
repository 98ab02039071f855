/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - results against exact values, many at a time: loops that a compiler turns into
 * vector code.
 *
 * The exact value is a double here, whose relative error is below 2^-36 (doubles.h): 2^-12 ULP of
 * f32 and 2^-25 ULP of f16. */
#include <float.h>
#include <math.h>

#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "formats.h"
#include "values.h"

/* Without comparisons of integers: AVX2 has too few of them. */
IN_LOOPS double error_of(const format *f, int correctly, double exact, uint64_t stored)
{
    double size = fabs(exact), place = format_place(f, stored);
    size = size < f->limit ? size : f->limit;
    double binade = size > f->least ? size : f->least;
    uint64_t exponent = double_bits(binade) & double_bits((double)INFINITY);
    /* one over the unit in the last place: exact, and so is multiplying by it */
    double scale = double_of(((uint64_t)(2 * DOUBLE_BIAS + f->digits) << DOUBLE_DIGITS) - exponent);
    double error = fabs(place - size) * scale;
    double signs = copysign(1, exact) * format_sign(f, stored);
    error = correctly && rint(size * scale) != place * scale ? (double)INFINITY : error;
    error = place > f->limit || signs < 0 ? (double)INFINITY : error;
    return exact == exact ? error : place > f->limit ? 0 : (double)INFINITY;
}

IN_LOOPS double compare_16(const format *f, int correctly, int64_t n, const double *exact,
                           const uint16_t *got)
{
    double worst = 0;
#pragma omp simd reduction(max : worst)
    for (int64_t i = 0; i < n; i++) {
        double error = error_of(f, correctly, exact[i], got[i]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

IN_LOOPS double compare_32(int correctly, int64_t n, const double *exact, const uint32_t *got)
{
    double worst = 0;
#pragma omp simd reduction(max : worst)
    for (int64_t i = 0; i < n; i++) {
        double error = error_of(&f32, correctly, exact[i], got[i]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

double compare_block(vjp_dtype dtype, int correctly, int64_t n, const double *exact,
                     const void *got)
{
    switch (dtype) {
    case VJP_F16:
        return correctly ? compare_16(&f16, 1, n, exact, got) : compare_16(&f16, 0, n, exact, got);
    case VJP_BF16:
        return correctly ? compare_16(&bf16, 1, n, exact, got)
                         : compare_16(&bf16, 0, n, exact, got);
    default:
        return correctly ? compare_32(1, n, exact, got) : compare_32(0, n, exact, got);
    }
}

/* dtype_ulp of f64, of a size that is not negative, without its calls. */
static double unit_of_f64(long double size)
{
    double near = (double)size;
    if (isinf(near))
        return (double)dtype_ulp(VJP_F64, size);
    double power = double_of(double_bits(near) & double_bits((double)INFINITY));
    power = (long double)power > size ? power / 2 : power; /* rounded up to a power of two */
    return (power > DBL_MIN ? power : DBL_MIN) * 0x1p-52;
}

double compare_f64(long double exact, double got)
{
    const long double limit = 0x1p1024L; /* where infinity stands */
    long double size = fabsl(exact) < limit ? fabsl(exact) : limit;
    long double place = isinf(got) ? limit : fabsl(got);
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
    if (!signbit(got) != !signbit(exact))
        return (double)INFINITY;
    return (double)(fabsl(place - size) / unit_of_f64(size));
}

int compare_is_worse(double error, const worst *w) { return error > w->error + 1e-6; }

double compare_mpfr_from(const job *j, int which)
{
    /* Of the bound, more than the error of the exact values themselves: doubles.h. */
    double lost = vjp_dtype_size(j->dtype) == 2 ? 0x1p-20 : 0x1p-10;
    if (j->limit[which] == 0)
        return 0.01;
    if (j->dtype == VJP_F64)
        return 0.98 * j->limit[which];
    return j->limit[ANY_GRADIENT] == 0.5 ? (double)INFINITY : j->limit[which] - lost;
}

static double error_by_mpfr(const job *j, double x, double w, double g, double got)
{
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    if (exact_factor(&j->p, j->output, x, w, exact))
        mpfr_mul_d(exact, exact, g, MPFR_RNDN);
    double error = mpfr_number_p(exact) ? exact_error(j->dtype, exact, got) : 0;
    if (!mpfr_number_p(exact))
        error = value_same(got, mpfr_get_d(exact, MPFR_RNDN)) ? 0 : (double)INFINITY;
    else if (is_negative(got) != (mpfr_signbit(exact) != 0) ||
        (j->limit[ANY_GRADIENT] == 0.5 && !value_same(got, exact_rounded(j->dtype, exact))))
        error = INFINITY;
    mpfr_clear(exact);
    return error;
}

void compare_keep(const job *j, double x, double w, double g, double got, int64_t index,
                  worst worsts[WORSTS])
{
    worst this = { error_by_mpfr(j, x, w, g, got), x, w, g, got, index };
    worst_join(&worsts[ANY_GRADIENT], &this);
    if (g == 1)
        worst_join(&worsts[GRADIENT_IS_1], &this);
}
