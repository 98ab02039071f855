/* SPDX-License-Identifier: Apache-2.0 */
/* element.cuh - one element: the compute type T and its arithmetic, and how dtypes are stored. */

#define INLINE static __device__ __forceinline__
#define INLINE_MEMBER __device__ __forceinline__
#define RARE inline __device__ __noinline__ /* static would put our folder into its name */
#define UNROLL _Pragma("unroll")
#define EVERY UNROLL

#ifndef VJPI_EMULATED
#include "cuda/ptx.cuh"
#endif

#if VJPI_COMPUTE_F64
typedef double T;

INLINE T fused(T a, T b, T c) { return __fma_rn(a, b, c); }
INLINE T magnitude(T a) { return fabs(a); }
INLINE T signed_as(T a, T s) { return copysign(a, s); }
INLINE T near_ratio(T a, T b) { return a / b; }

/* a * 2^n for z = n + MAGIC (formulas.h). */
INLINE T add_exponent(T a, T z)
{
    return __longlong_as_double(__double_as_longlong(a) + (__double_as_longlong(z) << 52));
}

INLINE T square_root(T a) { return __dsqrt_rn(a); }
INLINE T greatest(T a, T b) { return fmax(a, b); } /* ignores NaN */

/* A fraction from sqrt(1/2) to sqrt(2) and z = n + MAGIC, for a normal a = fraction * 2^n > 0. */
INLINE T fraction_of(T a, T &z)
{
    const uint64_t bias = (uint64_t)1023 << 52, bits = (uint64_t)__double_as_longlong(a);
    uint64_t n = (bits - 0x3fe6a09e667f3bcd + bias) >> 52;
    z = __longlong_as_double((long long)(0x4338000000000000 + n - 1023));
    return __longlong_as_double((long long)(bits - (n << 52) + bias));
}
#else
typedef float T;

INLINE T fused(T a, T b, T c) { return __fmaf_rn(a, b, c); }
INLINE T magnitude(T a) { return fabsf(a); }
INLINE T signed_as(T a, T s) { return copysignf(a, s); }

INLINE T add_exponent(T a, T z)
{
    return __uint_as_float(__float_as_uint(a) + (__float_as_uint(z) << 23));
}

INLINE T square_root(T a) { return __fsqrt_rn(a); }
INLINE T greatest(T a, T b) { return fmaxf(a, b); }

INLINE T fraction_of(T a, T &z)
{
    const uint32_t bias = 127u << 23, bits = __float_as_uint(a);
    uint32_t n = (bits - 0x3f3504f3 + bias) >> 23;
    z = __uint_as_float(0x4b400000 + n - 127);
    return __uint_as_float(bits - (n << 23) + bias);
}

/* a / b, rounded to nearest: a refined estimate of 1 / b, the quotient, and a correction by its
 * remainder. The division operator does the same after checking for numbers near overflow or
 * underflow. */
INLINE T near_ratio(T a, T b)
{
    T inverse = near_inverse(b);
    inverse = fused(fused(-b, inverse, 1), inverse, inverse);
    T quotient = a * inverse;
    return fused(fused(-b, quotient, a), inverse, quotient);
}
#endif

/* ---- dtypes ------------------------------------------------------------------------------- */

/* An element in memory, and its value. */
#define STORED_f64 double
#define STORED_f32 float
#define STORED_f16 __half
#define STORED_bf16 __nv_bfloat16

INLINE T value(double a) { return (T)a; }
INLINE T value(float a) { return (T)a; }
INLINE T value(__half a) { return (T)__half2float(a); }
INLINE T value(__nv_bfloat16 a) { return (T)__bfloat162float(a); }
INLINE T value(uint8_t a) { return a != 0; } /* of a mask */

/* A value rounded to nearest even to what is stored. */
template <class E> INLINE E rounded(T v) { return (E)v; }
#if !VJPI_COMPUTE_F64
template <> __device__ __forceinline__ __half rounded<__half>(T v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ __nv_bfloat16 rounded<__nv_bfloat16>(T v)
{
    return __float2bfloat16_rn(v);
}
#endif

/* Two at once, the first in the lower half. */
template <class E> INLINE uint32_t rounded_pair(T low, T high);
#if !VJPI_COMPUTE_F64
template <> __device__ __forceinline__ uint32_t rounded_pair<__half>(T low, T high)
{
    __half2 pair = __floats2half2_rn(low, high);
    return *(uint32_t *)&pair;
}
template <> __device__ __forceinline__ uint32_t rounded_pair<__nv_bfloat16>(T low, T high)
{
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&pair;
}
#endif

/* The values of a pair. */
template <class E> INLINE T low_value(uint32_t pair);
template <class E> INLINE T high_value(uint32_t pair);
template <> __device__ __forceinline__ T low_value<__half>(uint32_t pair)
{
    return (T)__low2float(*(__half2 *)&pair);
}
template <> __device__ __forceinline__ T high_value<__half>(uint32_t pair)
{
    return (T)__high2float(*(__half2 *)&pair);
}
template <> __device__ __forceinline__ T low_value<__nv_bfloat16>(uint32_t pair)
{
    return (T)__uint_as_float(pair << 16);
}
template <> __device__ __forceinline__ T high_value<__nv_bfloat16>(uint32_t pair)
{
    return (T)__uint_as_float(pair & 0xffff0000);
}

/* The dtype that the kernels are for, and a number of any: one per row or sum, so that a call costs
 * little, and copies of it would be most of some kernels. */
#define CODE_f64 VJP_F64
#define CODE_f32 VJP_F32
#define CODE_f16 VJP_F16
#define CODE_bf16 VJP_BF16

RARE T load_number(int dtype, const char *at)
{
    switch (dtype) {
#define DTYPE(name, suffix, size, compute) \
    case VJP_##suffix:                     \
        return value(*(const STORED_##name *)at);
#define STORED(name, suffix, size, type) \
    case VJP_##suffix:                   \
        return (T)*(const type *)at;
#include "dtypes.def"
    }
    return 0;
}

RARE void store_number(int dtype, char *at, T number)
{
    switch (dtype) {
#define DTYPE(name, suffix, size, compute)                                \
    case VJP_##suffix:                                                    \
        *(STORED_##name *)at = rounded<STORED_##name>(number);            \
        break;
#include "dtypes.def"
    }
}

INLINE uint32_t bits_of(__half a) { return __half_as_ushort(a); }
INLINE uint32_t bits_of(__nv_bfloat16 a) { return __bfloat16_as_ushort(a); }

template <class E> INLINE E from_bits(uint32_t bits);
template <> __device__ __forceinline__ __half from_bits<__half>(uint32_t bits)
{
    return __ushort_as_half((unsigned short)bits);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_bits<__nv_bfloat16>(uint32_t bits)
{
    return __ushort_as_bfloat16((unsigned short)bits);
}
