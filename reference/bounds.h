/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h - the error bounds the library states, and whether a result keeps them.
 *
 * A result that depends on one index has a bound in ULP of the stored dtype; a result that
 * depends on a sum has an absolute bound in the compute type, and one more rounding where it is
 * stored in 16 bits.
 */
#ifndef VJP_REFERENCE_BOUNDS_H
#define VJP_REFERENCE_BOUNDS_H

#include "vjp/vjp.h"

/* A bound on |result - value|: `ulps` of the stored dtype if `absolute` is negative, else
 * `absolute`, before the result is rounded to a 16-bit dtype. */
typedef struct bound {
    long double ulps;
    long double absolute;
    long double own; /* what the value itself may be wrong by */
} bound;

bound bound_ulps(long double ulps);
bound bound_absolute(long double absolute);

/* bound_of_ulps - in ULP, of a value that is a sum of long doubles of that summed magnitude. */
bound bound_of_ulps(long double ulps, long double magnitude);

/* bound_sum_error - (ceil(log2 n) + c) * eps * magnitude, where n terms of that summed magnitude
 * are added in the compute type of `dtype`, plus n times its smallest subnormal. Stated as long as
 * no partial sum overflows. */
long double bound_sum_error(vjp_dtype dtype, int64_t n, double c, long double magnitude);

/* bound_holds - whether `got`, stored as dtype, is right for the exact `value`: NaN for NaN, the
 * same infinity, the same sign of zero (ulps only), and within the bound. */
int bound_holds(bound b, vjp_dtype dtype, long double value, double got);

/* ends_hold - whether `got` is right by the rules of the conformance vectors: NaN where NaN is
 * expected; else between the ends, a zero with their sign if they agree on one. */
int ends_hold(double expected, double low, double high, double got);

#endif
