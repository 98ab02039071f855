/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_avx2.h - the vocabulary (see lanes_scalar.h) for AVX2 + FMA + F16C: 8 floats, 4 doubles. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define CAN_STREAM 1

#if VJPI_COMPUTE_F64

#define LANES 4
typedef double T;
typedef __m256d V;
typedef __m256d M;

static inline V k(T c) { return _mm256_set1_pd(c); }
static inline M gt(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
static inline M eq(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
static inline M both(M m, M n) { return _mm256_and_pd(m, n); }
static inline int all(M m) { return _mm256_movemask_pd(m) == 15; }
static inline V pick(M m, V a, V b) { return _mm256_blendv_pd(b, a, m); }
static inline V greater_of(V a, V b) { return _mm256_max_pd(a, b); }
static inline V lesser_of(V a, V b) { return _mm256_min_pd(a, b); }
static inline V muladd(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
static inline V absolute(V a) { return _mm256_andnot_pd(k(-0.0), a); }
static inline V ratio(V a, V b) { return a / b; }

static inline V times_2_to(V a, V z)
{
    __m256i shift = _mm256_slli_epi64(_mm256_castpd_si256(z), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(a), shift));
}

static inline V root(V a) { return _mm256_sqrt_pd(a); }

static inline V with_sign(V a, V s)
{
    return _mm256_or_pd(_mm256_and_pd(k(-0.0), s), _mm256_andnot_pd(k(-0.0), a));
}

static inline V split_exponent(V a, V *z)
{
    const __m256i bias = _mm256_set1_epi64x((int64_t)1023 << 52);
    __m256i bits = _mm256_castpd_si256(a);
    __m256i from = _mm256_sub_epi64(bits, _mm256_set1_epi64x(0x3fe6a09e667f3bcd));
    __m256i n = _mm256_srli_epi64(_mm256_add_epi64(from, bias), 52);
    bits = _mm256_add_epi64(_mm256_sub_epi64(bits, _mm256_slli_epi64(n, 52)), bias);
    *z = _mm256_castsi256_pd(_mm256_add_epi64(n, _mm256_set1_epi64x(0x4338000000000000 - 1023)));
    return _mm256_castsi256_pd(bits);
}

static inline M first(ptrdiff_t n)
{
    __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lane));
}

static inline T sum_lanes(V a)
{
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#else

#define LANES 8
typedef float T;
typedef __m256 V;
typedef __m256 M;

static inline V k(T c) { return _mm256_set1_ps(c); }
static inline M gt(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
static inline M eq(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline M both(M m, M n) { return _mm256_and_ps(m, n); }
static inline int all(M m) { return _mm256_movemask_ps(m) == 255; }
static inline V pick(M m, V a, V b) { return _mm256_blendv_ps(b, a, m); }
static inline V greater_of(V a, V b) { return _mm256_max_ps(a, b); }
static inline V lesser_of(V a, V b) { return _mm256_min_ps(a, b); }
static inline V muladd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
static inline V absolute(V a) { return _mm256_andnot_ps(k(-0.0f), a); }
static inline V ratio(V a, V b) { return a / b; }

static inline V times_2_to(V a, V z)
{
    __m256i shift = _mm256_slli_epi32(_mm256_castps_si256(z), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), shift));
}

static inline V root(V a) { return _mm256_sqrt_ps(a); }

static inline V with_sign(V a, V s)
{
    return _mm256_or_ps(_mm256_and_ps(k(-0.0f), s), _mm256_andnot_ps(k(-0.0f), a));
}

static inline V split_exponent(V a, V *z)
{
    const __m256i bias = _mm256_set1_epi32((int32_t)127 << 23);
    __m256i bits = _mm256_castps_si256(a);
    __m256i from = _mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3));
    __m256i n = _mm256_srli_epi32(_mm256_add_epi32(from, bias), 23);
    bits = _mm256_add_epi32(_mm256_sub_epi32(bits, _mm256_slli_epi32(n, 23)), bias);
    *z = _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_set1_epi32(0x4b400000 - 127)));
    return _mm256_castsi256_ps(bits);
}

static inline M first(ptrdiff_t n)
{
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}

static inline T sum_lanes(V a)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#endif

typedef struct VV {
    V a, b;
} VV;

#if VJPI_COMPUTE_F64

static inline VV load_f64(const void *p)
{
    return (VV){ _mm256_loadu_pd(p), _mm256_loadu_pd((const double *)p + LANES) };
}

static inline void store_f64(void *p, VV v)
{
    _mm256_storeu_pd(p, v.a);
    _mm256_storeu_pd((double *)p + LANES, v.b);
}

static inline void stream_f64(void *p, VV v)
{
    _mm256_stream_pd(p, v.a);
    _mm256_stream_pd((double *)p + LANES, v.b);
}

#else

static inline VV load_f32(const void *p)
{
    return (VV){ _mm256_loadu_ps(p), _mm256_loadu_ps((const float *)p + LANES) };
}

static inline void store_f32(void *p, VV v)
{
    _mm256_storeu_ps(p, v.a);
    _mm256_storeu_ps((float *)p + LANES, v.b);
}

static inline void stream_f32(void *p, VV v)
{
    _mm256_stream_ps(p, v.a);
    _mm256_stream_ps((float *)p + LANES, v.b);
}

static inline VV by_parity(VV v)
{
    __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(v.a, v.b, 0x88));
    __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(v.a, v.b, 0xdd));
    return (VV){ _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)),
                 _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8)) };
}

static inline VV in_order(VV v)
{
    V low = _mm256_unpacklo_ps(v.a, v.b), high = _mm256_unpackhi_ps(v.a, v.b);
    return (VV){ _mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31) };
}

typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint16_t eight __attribute__((vector_size(16)));

static inline void stream_eight(void *p, eight v) { _mm_stream_si128((__m128i *)p, (__m128i)v); }

/* Single loads: on Zen 4 a gather takes longer. */
static inline V look_up(const T *t, const bits16 *x, ptrdiff_t step)
{
    return (V){ t[x[0]], t[x[step]], t[x[2 * step]], t[x[3 * step]],
                t[x[4 * step]], t[x[5 * step]], t[x[6 * step]], t[x[7 * step]] };
}

static inline VV load_f16(const void *p)
{
    return (VV){ _mm256_cvtph_ps(_mm_loadu_si128(p)),
                 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p + 1)) };
}

static inline __m256i to_f16(VV v)
{
    return _mm256_setr_m128i(_mm256_cvtps_ph(v.a, _MM_FROUND_TO_NEAREST_INT),
                             _mm256_cvtps_ph(v.b, _MM_FROUND_TO_NEAREST_INT));
}

static inline void store_f16(void *p, VV v) { _mm256_storeu_si256(p, to_f16(v)); }
static inline void stream_f16(void *p, VV v) { _mm256_stream_si256(p, to_f16(v)); }

static inline VV load_bf16(const void *p)
{
    __m256i both = _mm256_loadu_si256(p);
    __m256i odd = _mm256_and_si256(both, _mm256_set1_epi32((int)0xffff0000));
    return (VV){ _mm256_castsi256_ps(_mm256_slli_epi32(both, 16)), _mm256_castsi256_ps(odd) };
}

static inline V plain_nan(V a)
{
    return pick(_mm256_cmp_ps(a, a, _CMP_ORD_Q), a, k(__builtin_nanf("")));
}

/* Round to nearest even on the upper half. */
static inline __m256i round_bf16(V a)
{
    __m256i bits = _mm256_castps_si256(a);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
}

static inline __m256i to_bf16(VV v)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(round_bf16(v.a), 16), round_bf16(v.b), 0xaa);
}

static inline void store_bf16(void *p, VV v) { _mm256_storeu_si256(p, to_bf16(v)); }
static inline void stream_bf16(void *p, VV v) { _mm256_stream_si256(p, to_bf16(v)); }

#endif

#include "cpu/lanes_partial.h"

#define load_f32_to_store load_f32
#define load_f64_to_store load_f64
