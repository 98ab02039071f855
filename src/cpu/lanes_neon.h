/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_neon.h - the vocabulary (see lanes_scalar.h) for AArch64's Advanced SIMD: 4 floats, 2
 * doubles.
 *
 * FMAX and FMIN are not used: they return NaN where either is NaN, and order the zeros. STNP is
 * only a hint, and its use was never measured. */
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define CAN_STREAM 0

#if VJPI_COMPUTE_F64

#define LANES 2
typedef double T;
typedef float64x2_t V;
typedef uint64_t T_bits;
typedef uint64x2_t M; /* also the bits of a V */
#define FOR_T(word) word##_f64
#define FOR_M(word) word##_u64
#define LANE_NUMBERS (M){ 0, 1 }
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS UINT64_C(1023)
#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define MAGIC_BITS UINT64_C(0x4338000000000000)

#else

#define LANES 4
typedef float T;
typedef float32x4_t V;
typedef uint32_t T_bits;
typedef uint32x4_t M;
#define FOR_T(word) word##_f32
#define FOR_M(word) word##_u32
#define LANE_NUMBERS (M){ 0, 1, 2, 3 }
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS UINT32_C(127)
#define SQRT_HALF_BITS UINT32_C(0x3f3504f3)
#define MAGIC_BITS UINT32_C(0x4b400000)

#endif

static inline V k(T c) { return FOR_T(vdupq_n)(c); }
static inline M gt(V a, V b) { return FOR_T(vcgtq)(a, b); }
static inline M eq(V a, V b) { return FOR_T(vceqq)(a, b); }
static inline M both(M m, M n) { return m & n; }
static inline V pick(M m, V a, V b) { return FOR_T(vbslq)(m, a, b); }
static inline V greater_of(V a, V b) { return pick(gt(a, b), a, b); }
static inline V lesser_of(V a, V b) { return pick(gt(b, a), a, b); }
static inline V muladd(V a, V b, V c) { return FOR_T(vfmaq)(c, a, b); }
static inline V absolute(V a) { return FOR_T(vabsq)(a); }
static inline V ratio(V a, V b) { return a / b; }
static inline V root(V a) { return FOR_T(vsqrtq)(a); }
static inline V with_sign(V a, V s) { return pick((M)k((T)-0.0), s, a); }

/* Half of each lane is enough, and 64 bits are compared in a general register. */
static inline int all(M m) { return (int64_t)FOR_M(vmovn)(m) == -1; }

static inline V times_2_to(V a, V z) { return (V)((M)a + ((M)z << EXPONENT_SHIFT)); }

static inline V split_exponent(V a, V *z)
{
    const M bias = FOR_M(vdupq_n)(EXPONENT_BIAS << EXPONENT_SHIFT);
    M bits = (M)a;
    M n = (bits - FOR_M(vdupq_n)(SQRT_HALF_BITS) + bias) >> EXPONENT_SHIFT; /* and the bias */
    *z = (V)(n + FOR_M(vdupq_n)(MAGIC_BITS - EXPONENT_BIAS));
    return (V)(bits - (n << EXPONENT_SHIFT) + bias);
}

static inline M first(ptrdiff_t n)
{
    return FOR_M(vcgtq)(FOR_M(vdupq_n)((T_bits)n), LANE_NUMBERS);
}

#if VJPI_COMPUTE_F64
static inline T sum_lanes(V a) { return vpaddd_f64(a); }
#else
static inline T sum_lanes(V a)
{
    return vpadds_f32(vadd_f32(vget_low_f32(a), vget_high_f32(a)));
}
#endif

typedef struct VV {
    V a, b;
} VV;

static inline VV FOR_T(load)(const void *p)
{
    VV v;
    memcpy(&v.a, p, sizeof(V));
    memcpy(&v.b, (const T *)p + LANES, sizeof(V));
    return v;
}

static inline void FOR_T(store)(void *p, VV v)
{
    memcpy(p, &v.a, sizeof(V));
    memcpy((T *)p + LANES, &v.b, sizeof(V));
}

#if !VJPI_COMPUTE_F64

static inline VV by_parity(VV v)
{
    return (VV){ vuzp1q_f32(v.a, v.b), vuzp2q_f32(v.a, v.b) };
}

static inline VV in_order(VV v)
{
    return (VV){ vzip1q_f32(v.a, v.b), vzip2q_f32(v.a, v.b) };
}

typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint16_t eight __attribute__((vector_size(16)));

static inline V look_up(const T *t, const bits16 *x, ptrdiff_t step)
{
    return (V){ t[x[0]], t[x[step]], t[x[2 * step]], t[x[3 * step]] };
}

static inline VV load_f16(const void *p)
{
    float16x8_t half;
    memcpy(&half, p, sizeof(half));
    return (VV){ vcvt_f32_f16(vget_low_f16(half)), vcvt_high_f32_f16(half) };
}

static inline void store_f16(void *p, VV v)
{
    float16x8_t half = vcvt_high_f16_f32(vcvt_f16_f32(v.a), v.b);
    memcpy(p, &half, sizeof(half));
}

static inline VV load_bf16(const void *p)
{
    M both;
    memcpy(&both, p, sizeof(both));
    return (VV){ (V)(both << 16), (V)(both & vdupq_n_u32(0xffff0000)) };
}

static inline V plain_nan(V a) { return pick(eq(a, a), a, k(__builtin_nanf(""))); }

/* Round to nearest even on the upper half: add 0x7fff and, where the half is odd, 1. */
static inline M round_bf16(V a)
{
    M odd = vtstq_u32((M)a, vdupq_n_u32(0x10000)); /* -1 */
    return (M)a + vdupq_n_u32(0x7fff) - odd;
}

static inline void store_bf16(void *p, VV v)
{
    M both = vsriq_n_u32(round_bf16(v.b), round_bf16(v.a), 16);
    memcpy(p, &both, sizeof(both));
}

static inline void stream_eight(void *p, eight v) { memcpy(p, &v, sizeof(v)); }

#endif

#include "cpu/lanes_partial.h"

#define stream_f64 store_f64
#define stream_f32 store_f32
#define stream_f16 store_f16
#define stream_bf16 store_bf16
#define load_f32_to_store load_f32
#define load_f64_to_store load_f64
