/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_avx512.h - the vocabulary (see lanes_scalar.h) for AVX-512 F, BW, DQ, VL: 16 floats, 8
 * doubles.
 *
 * Streaming stores are 256 bits wide: they fill memory faster than 512-bit ones. VCVTNEPS2BF16
 * is not used, since it flushes subnormals. */
#include <immintrin.h>
#include <stdint.h>

#define CAN_STREAM 1

#if VJPI_COMPUTE_F64

#define LANES 8
typedef double T;
typedef __m512d V;
typedef __mmask8 M;

static inline V k(T c) { return _mm512_set1_pd(c); }
static inline M gt(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
static inline V pick(M m, V a, V b) { return _mm512_mask_blend_pd(m, b, a); }
static inline V muladd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
static inline V absolute(V a) { return _mm512_abs_pd(a); }

static inline V times_2_to(V a, V z)
{
    __m512i shift = _mm512_slli_epi64(_mm512_castpd_si512(z), 52);
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(a), shift));
}

static inline T sum_lanes(V a)
{
    __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#else

#define LANES 16
typedef float T;
typedef __m512 V;
typedef __mmask16 M;

static inline V k(T c) { return _mm512_set1_ps(c); }
static inline M gt(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline V pick(M m, V a, V b) { return _mm512_mask_blend_ps(m, b, a); }
static inline V muladd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
static inline V absolute(V a) { return _mm512_abs_ps(a); }

static inline V times_2_to(V a, V z)
{
    __m512i shift = _mm512_slli_epi32(_mm512_castps_si512(z), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), shift));
}

static inline T sum_lanes(V a)
{
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#endif

static inline M both(M m, M n) { return (M)(m & n); }
static inline M first(ptrdiff_t n) { return (M)((1u << n) - 1); }
static inline int all(M m) { return m == first(LANES); }

#if VJPI_COMPUTE_F64

static inline V load_f64(const void *p) { return _mm512_loadu_pd(p); }
static inline void store_f64(void *p, V a) { _mm512_storeu_pd(p, a); }

static inline void stream_f64(void *p, V a)
{
    _mm256_stream_pd((double *)p, _mm512_castpd512_pd256(a));
    _mm256_stream_pd((double *)p + 4, _mm512_extractf64x4_pd(a, 1));
}

static inline V load_some_f64(const void *p, ptrdiff_t n)
{
    return _mm512_maskz_loadu_pd(first(n), p);
}

static inline void store_some_f64(void *p, V a, ptrdiff_t n)
{
    _mm512_mask_storeu_pd(p, first(n), a);
}

#else

static inline V load_f32(const void *p) { return _mm512_loadu_ps(p); }
static inline void store_f32(void *p, V a) { _mm512_storeu_ps(p, a); }

static inline void stream_f32(void *p, V a)
{
    _mm256_stream_ps((float *)p, _mm512_castps512_ps256(a));
    _mm256_stream_ps((float *)p + 8, _mm512_extractf32x8_ps(a, 1));
}

static inline V load_some_f32(const void *p, ptrdiff_t n)
{
    return _mm512_maskz_loadu_ps(first(n), p);
}

static inline void store_some_f32(void *p, V a, ptrdiff_t n)
{
    _mm512_mask_storeu_ps(p, first(n), a);
}

static inline V from_f16(__m256i a) { return _mm512_cvtph_ps(a); }
static inline __m256i to_f16(V a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }

static inline V from_bf16(__m256i a)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16));
}

static inline __m256i to_bf16(V a)
{
    __m512i bits = _mm512_castps_si512(a);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    up = _mm512_mask_mov_epi32(up, nan, _mm512_set1_epi32(0x7fc00000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}

#define HALF(dtype)                                                                               \
    static inline V load_##dtype(const void *p) { return from_##dtype(_mm256_loadu_si256(p)); }   \
    static inline void store_##dtype(void *p, V a) { _mm256_storeu_si256(p, to_##dtype(a)); }     \
    static inline void stream_##dtype(void *p, V a) { _mm256_stream_si256(p, to_##dtype(a)); }    \
    static inline V load_some_##dtype(const void *p, ptrdiff_t n)                                 \
    {                                                                                             \
        return from_##dtype(_mm256_maskz_loadu_epi16(first(n), p));                               \
    }                                                                                             \
    static inline void store_some_##dtype(void *p, V a, ptrdiff_t n)                              \
    {                                                                                             \
        _mm256_mask_storeu_epi16(p, first(n), to_##dtype(a));                                     \
    }
HALF(f16)
HALF(bf16)
#undef HALF

#endif
