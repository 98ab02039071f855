/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.c - see bounds.h. */
#include "bounds.h"

#include <math.h>

#include "dtypes.h"

/* The expected values are long doubles, whose own few roundings show beside f64 results. */
static long double oracle_ulps(vjp_dtype dtype)
{
    return dtype == VJP_F64 ? 0x1p-9L : 0x1p-30L;
}

bound bound_ulps(long double ulps)
{
    return (bound){ ulps, -1, 0 };
}

bound bound_absolute(long double absolute)
{
    return (bound){ 0, absolute, 0 };
}

bound bound_of_ulps(long double ulps, long double magnitude)
{
    return (bound){ ulps, -1, magnitude * 0x1p-61L };
}

long double bound_sum_error(vjp_dtype dtype, int64_t n, double c, long double magnitude)
{
    int levels = 0;
    while (n > (int64_t)1 << levels)
        levels++;
    vjp_dtype compute = dtype == VJP_F64 ? VJP_F64 : VJP_F32;
    long double floor = (long double)n * dtype_tiny(compute);
    return (levels + c) * dtype_ulp(compute, 1) * magnitude + floor;
}

static int same_special(long double value, double got)
{
    if (isnan(value) || isnan(got))
        return isnan(value) && isnan(got);
    return (double)value == got;
}

static int ulps_hold(bound b, vjp_dtype dtype, long double value, double got)
{
    if (got == 0 && is_negative(got) != is_negative(value))
        return 0;
    /* An infinity stands where the next number would be if the exponents went on. */
    long double limit = dtype_max(dtype) + dtype_ulp(dtype, dtype_max(dtype));
    long double place = isinf(got) ? copysignl(limit, got) : got;
    if (isinf(got) && fabsl(value) >= limit)
        return is_negative(got) == is_negative(value);
    return fabsl(place - value) <= (b.ulps + oracle_ulps(dtype)) * dtype_ulp(dtype, value) + b.own;
}

int bound_holds(bound b, vjp_dtype dtype, long double value, double got)
{
    if (!isfinite(value) || isnan(got))
        return same_special(value, got);
    if (b.absolute < 0)
        return ulps_hold(b, dtype, value, got);
    if (dtype_is_16_bit(dtype))
        return dtype_round(dtype, value - b.absolute) <= got &&
               got <= dtype_round(dtype, value + b.absolute);
    return fabsl(got - value) <= b.absolute || got == dtype_round(dtype, value);
}

int ends_hold(double expected, double low, double high, double got)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (got == 0 && is_negative(low) == is_negative(high) && is_negative(got) != is_negative(low))
        return 0;
    return low <= got && got <= high;
}
