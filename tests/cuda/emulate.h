/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.h - the parts of CUDA that src/cuda/kernels.cu uses, in plain C++: the kernels run on a
 * CPU, a fiber for each thread of a block (emulate.cpp). Blocks run one after the other; there are
 * no clusters of them. */
#ifndef VJP_TESTS_CUDA_EMULATE_H
#define VJP_TESTS_CUDA_EMULATE_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __device__
#define __host__
#define __global__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static /* of the one block that runs */

struct emulated_dim {
    unsigned x, y;
};

extern emulated_dim threadIdx, blockIdx, blockDim, gridDim;

/* emulated_shared - what a launch requested, filled with NaN when a block begins. */
extern char emulated_shared[];

/* __syncthreads, and the exchange behind __shfl_xor_sync; both wait for the other threads. */
void emulated_barrier();
void emulated_exchange(void *got, const void *given, std::size_t size, unsigned from);

#define __syncthreads emulated_barrier

template <class A> A __shfl_xor_sync(unsigned, A given, int distance)
{
    A got;
    unsigned lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
    emulated_exchange(&got, &given, sizeof(given), lane ^ (unsigned)distance);
    return got;
}

using std::max;
using std::min;

/* ---- numbers ------------------------------------------------------------------------------ */

template <class To, class From> To same_bits(From from)
{
    To to;
    static_assert(sizeof(to) == sizeof(from), "");
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

static inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return std::sqrt(a); }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline uint32_t __float_as_uint(float a) { return same_bits<uint32_t>(a); }
static inline float __uint_as_float(uint32_t a) { return same_bits<float>(a); }
static inline long long __double_as_longlong(double a) { return same_bits<long long>(a); }
static inline double __longlong_as_double(long long a) { return same_bits<double>(a); }

static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t made = 0;
    for (int i = 0; i < 4; i++)
        made |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return made;
}

struct __half {
    uint16_t bits;
    __half() = default;
    explicit __half(double);
};
struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    explicit __nv_bfloat16(double);
};
struct __half2 {
    __half x, y;
};
struct __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

static inline __half __ushort_as_half(unsigned short a) { return same_bits<__half>(a); }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short a)
{
    return same_bits<__nv_bfloat16>(a);
}
static inline unsigned short __half_as_ushort(__half a) { return a.bits; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }

static inline float __bfloat162float(__nv_bfloat16 a)
{
    return __uint_as_float((uint32_t)a.bits << 16);
}

static inline __nv_bfloat16 __float2bfloat16_rn(float a)
{
    uint32_t bits = __float_as_uint(a);
    return __ushort_as_bfloat16(
        a != a ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

/* By scaling: the exponent's bias differs by 112. */
static inline float __half2float(__half a)
{
    uint32_t rest = (uint32_t)(a.bits & 0x7fff) << 13;
    float made = rest >= 0x7c00u << 13 ? __uint_as_float(rest | 0x7f800000)
                                       : __uint_as_float(rest) * 0x1p112f;
    return a.bits & 0x8000 ? -made : made;
}

static inline __half __float2half_rn(float a)
{
    uint32_t bits = __float_as_uint(a), sign = bits >> 16 & 0x8000, half;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) {
        half = 0x7e00;
    } else if (bits < 0x38800000) { /* adding 0.5 rounds at the last place of a subnormal */
        half = __float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000;
    } else {
        half = (bits + 0xfff + (bits >> 13 & 1)) - (112u << 23);
        half = half >= 0x7c00u << 13 ? 0x7c00 : half >> 13;
    }
    return __ushort_as_half((unsigned short)(sign | half));
}

inline __half::__half(double a) { *this = __float2half_rn((float)a); }
inline __nv_bfloat16::__nv_bfloat16(double a) { *this = __float2bfloat16_rn((float)a); }

static inline __half2 __floats2half2_rn(float a, float b)
{
    return { __float2half_rn(a), __float2half_rn(b) };
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b)
{
    return { __float2bfloat16_rn(a), __float2bfloat16_rn(b) };
}
static inline float __low2float(__half2 a) { return __half2float(a.x); }
static inline float __high2float(__half2 a) { return __half2float(a.y); }

/* ---- src/cuda/ptx.cuh --------------------------------------------------------------------- */

static inline float near_inverse(float a) { return 1 / a; }
static inline float near_power_of_2(float a) { return a < -126 ? 0 : std::exp2(a); }
static inline float max_or_nan(float a, float b) { return a != a || a > b ? a : b; }
static inline char *dynamic_shared() { return emulated_shared; }
template <int SIZE> void start_copy(void *to, const char *from) { std::memcpy(to, from, SIZE); }
static inline void commit_copies() {}
template <int STILL> void wait_copies() {}
static inline void cluster_arrive() {}
static inline void cluster_wait() {}
template <class E> E *in_block(E *mine, int) { return mine; }

#endif
