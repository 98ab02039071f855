/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - products of long doubles without loss. */
#ifndef VJP_REFERENCE_PRODUCT_H
#define VJP_REFERENCE_PRODUCT_H

#include <float.h>

/* What rounding took from a * b, by Dekker's halves: glibc's fmal takes ten times as long. */
static inline long double product_lost(long double a, long double b)
{
    const long double split = LDBL_MANT_DIG > 64 ? 0x1p57L + 1 : 0x1p32L + 1;
    long double a_high = split * a - (split * a - a), a_low = a - a_high;
    long double b_high = split * b - (split * b - b), b_low = b - b_high;
    return ((a_high * b_high - a * b) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

#endif
