/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.cuh - the vocabulary of formulas (cpu/lanes_scalar.h) on CUDA: a thread is a lane.
 *
 * Compiled with -fmad=false, so that the same text gives the CPU's bits. */
#define INLINE static __device__ __forceinline__
#define INLINE_MEMBER __device__ __forceinline__
#define RARE static __device__ __noinline__
#define UNROLL _Pragma("unroll")

#if VJPI_COMPUTE_F64
typedef double T;
#else
typedef float T;
#endif
typedef T V;
typedef bool M;

INLINE V k(T c) { return c; }
INLINE M gt(V a, V b) { return a > b; }
INLINE M both(M m, M n) { return m && n; }
INLINE bool all(M m) { return m; }
INLINE V pick(M m, V a, V b) { return m ? a : b; }

#if VJPI_COMPUTE_F64
INLINE V muladd(V a, V b, V c) { return __fma_rn(a, b, c); }
INLINE V absolute(V a) { return fabs(a); }
INLINE V times_2_to(V a, V z)
{
    return __longlong_as_double(__double_as_longlong(a) + (__double_as_longlong(z) << 52));
}
#else
INLINE V muladd(V a, V b, V c) { return __fmaf_rn(a, b, c); }
INLINE V absolute(V a) { return fabsf(a); }
INLINE V times_2_to(V a, V z)
{
    return __uint_as_float(__float_as_uint(a) + (__float_as_uint(z) << 23));
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

/* A value rounded to nearest even to what is stored. */
template <class E> INLINE E rounded(T v) { return (E)v; }
#if !VJPI_COMPUTE_F64
template <> __device__ __forceinline__ __half rounded<__half>(T v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ __nv_bfloat16 rounded<__nv_bfloat16>(T v)
{
    return __float2bfloat16_rn(v);
}
#endif

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
