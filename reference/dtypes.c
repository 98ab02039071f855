/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes.c - see dtypes.h. A format is its count of significant bits and its exponent range;
 * everything else follows from those numbers. */
#include "dtypes.h"

#include <math.h>
#include <string.h>

typedef struct format {
    int digits;       /* significant bits, the hidden one included */
    int min_exponent; /* of the smallest normal number */
    int max_exponent; /* of the largest finite number */
} format;

const vjp_dtype all_dtypes[4] = { VJP_F64, VJP_F32, VJP_F16, VJP_BF16 };

static format format_of(vjp_dtype dtype)
{
    static const format formats[] = {
        [VJP_F64] = { 53, -1022, 1023 },
        [VJP_F32] = { 24, -126, 127 },
        [VJP_F16] = { 11, -14, 15 },
        [VJP_BF16] = { 8, -126, 127 },
    };
    return formats[dtype];
}

int dtype_is_16_bit(vjp_dtype dtype)
{
    return dtype == VJP_F16 || dtype == VJP_BF16;
}

/* The exponent of the unit in the last place at `value`. */
static int ulp_exponent(format f, long double value)
{
    int exponent = value == 0 ? f.min_exponent : ilogbl(value);
    if (exponent < f.min_exponent)
        exponent = f.min_exponent;
    return exponent - f.digits + 1;
}

double dtype_round(vjp_dtype dtype, long double value)
{
    if (dtype == VJP_F64)
        return (double)value;
    if (dtype == VJP_F32)
        return (double)(float)value;
    if (!isfinite(value) || value == 0)
        return (double)value;
    int exponent = ulp_exponent(format_of(dtype), value);
    double rounded = (double)scalbnl(rintl(scalbnl(value, -exponent)), exponent);
    return fabs(rounded) > dtype_max(dtype) ? copysign(INFINITY, rounded) : rounded;
}

long double dtype_ulp(vjp_dtype dtype, long double value)
{
    return scalbnl(1.0L, ulp_exponent(format_of(dtype), value));
}

double dtype_max(vjp_dtype dtype)
{
    format f = format_of(dtype);
    return ldexp(ldexp(1.0, f.digits) - 1, f.max_exponent - f.digits + 1);
}

double dtype_tiny(vjp_dtype dtype)
{
    return (double)dtype_ulp(dtype, 0);
}

double dtype_next(vjp_dtype dtype, double value, int towards)
{
    /* Downwards from a power of two the step is half as large. */
    double away = copysign(1.0, value) * towards;
    long double step = dtype_ulp(dtype, value);
    if (value != 0 && away < 0)
        step = dtype_ulp(dtype, fabs(value) - 0.5L * step);
    return (double)(value + towards * step);
}

int is_negative(long double value)
{
    return signbit(value) != 0;
}

static uint64_t raw_bits(vjp_dtype dtype, const void *element)
{
    uint64_t wide;
    uint32_t single;
    uint16_t half;
    uint8_t byte;
    switch (vjp_dtype_size(dtype)) {
    case 8:
        memcpy(&wide, element, 8);
        return wide;
    case 4:
        memcpy(&single, element, 4);
        return single;
    case 2:
        memcpy(&half, element, 2);
        return half;
    default:
        memcpy(&byte, element, 1);
        return byte;
    }
}

int dtype_is_integer(vjp_dtype dtype)
{
    return dtype == VJP_S32 || dtype == VJP_S64 || dtype == VJP_U8;
}

double element_from_bits(vjp_dtype dtype, uint64_t bits)
{
    if (dtype_is_integer(dtype))
        return dtype == VJP_S32 ? (double)(int32_t)bits : (double)(int64_t)bits;
    if (dtype == VJP_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (dtype != VJP_F16) {
        uint32_t single = (uint32_t)(dtype == VJP_BF16 ? bits << 16 : bits);
        float value;
        memcpy(&value, &single, sizeof value);
        return value;
    }
    int exponent = (int)(bits >> 10 & 0x1f), fraction = (int)(bits & 0x3ff);
    double size = exponent == 0x1f ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                  : exponent == 0  ? ldexp(fraction, -24)
                                   : ldexp(fraction + 0x400, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static uint16_t half_bits(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (isinf(value))
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)ldexp(size, 24));
    int exponent = ilogb(size);
    return (uint16_t)(sign | (exponent + 15) << 10 | ((int)ldexp(size, 10 - exponent) & 0x3ff));
}

double element_read(vjp_dtype dtype, const void *element)
{
    return element_from_bits(dtype, raw_bits(dtype, element));
}

/* A whole number that fits. */
static void write_integer(vjp_dtype dtype, void *element, double value)
{
    int64_t wide = (int64_t)value;
    int32_t narrow = (int32_t)wide;
    uint8_t byte = (uint8_t)wide;
    memcpy(element,
           dtype == VJP_S64   ? (const void *)&wide
           : dtype == VJP_S32 ? (const void *)&narrow
                              : &byte,
           vjp_dtype_size(dtype));
}

void element_write(vjp_dtype dtype, void *element, double value)
{
    if (dtype_is_integer(dtype)) {
        write_integer(dtype, element, value);
        return;
    }
    double rounded = dtype_round(dtype, value);
    float single = (float)rounded;
    uint32_t single_bits;
    uint16_t half;
    switch (dtype) {
    case VJP_F64:
        memcpy(element, &rounded, 8);
        return;
    case VJP_F32:
        memcpy(element, &single, 4);
        return;
    case VJP_F16:
        half = half_bits(rounded);
        break;
    default:
        memcpy(&single_bits, &single, 4);
        half = isnan(rounded) ? 0x7fc0 : (uint16_t)(single_bits >> 16);
        break;
    }
    memcpy(element, &half, 2);
}

uint64_t element_bits(vjp_dtype dtype, const void *element)
{
    uint64_t bits = raw_bits(dtype, element);
    return isnan(element_from_bits(dtype, bits)) ? UINT64_MAX : bits;
}
