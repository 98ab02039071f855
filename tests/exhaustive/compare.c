/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - results against exact values, many at a time: loops that a compiler turns into
 * vector code.
 *
 * The exact value is a double here. Its relative error is below 2^-51, which is less than 2^-27 ULP
 * of f32 and 2^-40 ULP of a 16-bit dtype. */
#include <math.h>
#include <string.h>

#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "values.h"

enum {
    DOUBLE_DIGITS = 52,
    DOUBLE_BIAS = 1023
};

/* A format of up to 32 bits, next to double. */
typedef struct format {
    int width, digits; /* digits: of the fraction as stored */
    double rebias;           /* 2^(bias of double - bias) */
    double least;            /* the smallest normal number */
    double limit;            /* the number after the largest, which infinity takes the place of */
} format;

static const format f32 = { 32, 23, 0x1p896, 0x1p-126, 0x1p128 };
static const format f16 = { 16, 10, 0x1p1008, 0x1p-14, 0x1p16 };
static const format bf16 = { 16, 7, 0x1p896, 0x1p-126, 0x1p128 };

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A stored number, its exponent moved to where double has it: subnormals come out right, infinity
 * as the number after the largest, NaN as one beyond. */
static inline double place_of(const format *f, uint64_t stored)
{
    uint64_t size = stored & (((uint64_t)1 << (f->width - 1)) - 1);
    return from_bits(size << (DOUBLE_DIGITS - f->digits)) * f->rebias;
}

/* Without comparisons of integers: AVX2 has too few of them. */
static inline double error_of(const format *f, int correctly, double exact, uint64_t stored)
{
    double size = fabs(exact), place = place_of(f, stored);
    size = size < f->limit ? size : f->limit;
    double binade = size > f->least ? size : f->least;
    uint64_t exponent = bits_of(binade) & bits_of((double)INFINITY);
    /* one over the unit in the last place: exact, and so is multiplying by it */
    double scale = from_bits(((uint64_t)(2 * DOUBLE_BIAS + f->digits) << DOUBLE_DIGITS) - exponent);
    double error = fabs(place - size) * scale;
    double signs = copysign(1, exact) * copysign(1, from_bits(stored << (64 - f->width)));
    error = correctly && rint(size * scale) != place * scale ? (double)INFINITY : error;
    error = place > f->limit || signs < 0 ? (double)INFINITY : error;
    return exact == exact ? error : place > f->limit ? 0 : (double)INFINITY;
}

static inline __attribute__((always_inline)) double
compare_16(const format *f, int correctly, int64_t n, const double *exact, const uint16_t *got)
{
    double worst = 0;
#pragma omp simd reduction(max : worst)
    for (int64_t i = 0; i < n; i++) {
        double error = error_of(f, correctly, exact[i], got[i]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

static inline __attribute__((always_inline)) double
compare_32(int correctly, int64_t n, const double *exact, const uint32_t *got)
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

double compare_f64(long double exact, double got)
{
    const long double limit = 0x1p1024L; /* where infinity stands */
    long double size = fabsl(exact) < limit ? fabsl(exact) : limit;
    long double place = isinf(got) ? limit : fabsl(got);
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
    if (!signbit(got) != !signbit(exact))
        return (double)INFINITY;
    return (double)(fabsl(place - size) / dtype_ulp(VJP_F64, size));
}

int compare_is_worse(double error, const worst *w) { return error > w->error + 1e-6; }

double compare_mpfr_from(const job *j, int which)
{
    if (j->limit[which] == 0)
        return 0.01;
    if (j->limit[ANY_GRADIENT] == 0.5 && j->dtype != VJP_F64)
        return (double)INFINITY;
    return 0.98 * j->limit[which];
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
