/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes.h - the tests' own number formats, independent of the library's conversions.
 *
 * Every value of every dtype but the largest s64 is a double exactly, so tests hold elements as
 * doubles. Rounding is to nearest even, done on the long double by scaling its unit in the last
 * place to 1. All of this assumes that the calling thread rounds to nearest.
 */
#ifndef VJP_REFERENCE_DTYPES_H
#define VJP_REFERENCE_DTYPES_H

#include "vjp/vjp.h"

extern const vjp_dtype all_dtypes[4];

int dtype_is_16_bit(vjp_dtype dtype);
int dtype_is_integer(vjp_dtype dtype); /* labels, lengths, masks: read and written only */

/* dtype_round - the nearest value of the dtype, infinite beyond its range. */
double dtype_round(vjp_dtype dtype, long double value);

/* dtype_ulp - the distance between neighbours at a finite value; at the subnormals and at 0 the
 * smallest subnormal. */
long double dtype_ulp(vjp_dtype dtype, long double value);

/* dtype_max - the largest finite value; dtype_tiny - the smallest positive (subnormal) one. */
double dtype_max(vjp_dtype dtype);
double dtype_tiny(vjp_dtype dtype);

/* dtype_next - the neighbour of a finite value, upwards or (towards = -1) downwards. */
double dtype_next(vjp_dtype dtype, double value, int towards);

/* is_negative - the sign bit, of -0 too, as 0 or 1 (signbit differs between types). */
int is_negative(long double value);

/* element_read, element_write - one element in memory, written with one rounding. */
double element_read(vjp_dtype dtype, const void *element);
void element_write(vjp_dtype dtype, void *element, double value);

/* element_bits - the element's bits, every NaN made the same; element_from_bits - the value of
 * the low bits. */
uint64_t element_bits(vjp_dtype dtype, const void *element);
double element_from_bits(vjp_dtype dtype, uint64_t bits);

#endif
