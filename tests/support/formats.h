/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h - the numbers of up to 32 bits as doubles and back, without branches: in loops they
 * become vector code. Independent of the library's conversions. */
#ifndef VJP_TESTS_FORMATS_H
#define VJP_TESTS_FORMATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define IN_LOOPS static inline __attribute__((always_inline))

enum {
    DOUBLE_DIGITS = 52,
    DOUBLE_BIAS = 1023
};

/* A format next to double. */
typedef struct format {
    int width, digits; /* digits: of the fraction as stored */
    double rebias;     /* 2^(bias of double - bias) */
    double least;      /* the smallest normal number */
    double limit;      /* the number after the largest, which infinity takes the place of */
} format;

static const format f32 = { 32, 23, 0x1p896, 0x1p-126, 0x1p128 };
static const format f16 = { 16, 10, 0x1p1008, 0x1p-14, 0x1p16 };
static const format bf16 = { 16, 7, 0x1p896, 0x1p-126, 0x1p128 };

IN_LOOPS uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

IN_LOOPS double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A stored number without its sign, its exponent moved to where double has it: subnormals come out
 * right, infinity as the number after the largest, NaN as one beyond. */
IN_LOOPS double format_place(const format *f, uint64_t stored)
{
    uint64_t size = stored & (((uint64_t)1 << (f->width - 1)) - 1);
    return double_of(size << (DOUBLE_DIGITS - f->digits)) * f->rebias;
}

/* 1 or -1. */
IN_LOOPS double format_sign(const format *f, uint64_t stored)
{
    return copysign(1, double_of(stored << (64 - f->width)));
}

/* A stored number; 0 in place of infinity and NaN. */
IN_LOOPS double format_finite(const format *f, uint64_t stored)
{
    double place = format_place(f, stored);
    return place < f->limit ? place * format_sign(f, stored) : 0;
}

/* The bits of a finite number that the format has. */
IN_LOOPS uint64_t format_bits(const format *f, double value)
{
    uint64_t size = double_bits(fabs(value) / f->rebias) >> (DOUBLE_DIGITS - f->digits);
    return size | (double_bits(value) >> 63) << (f->width - 1);
}

#endif
