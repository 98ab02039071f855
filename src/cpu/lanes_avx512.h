/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_avx512.h - the vocabulary (see lanes_scalar.h) for AVX-512 F, BW, DQ, VL: 16 floats, 8
 * doubles.
 *
 * Non-temporal stores are 256 bits wide: they are faster than 512-bit ones. VCVTNEPS2BF16 is not
 * used, since it flushes subnormals. */
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
static inline M eq(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
static inline V pick(M m, V a, V b) { return _mm512_mask_blend_pd(m, b, a); }
static inline V greater_of(V a, V b) { return _mm512_max_pd(a, b); }
static inline V lesser_of(V a, V b) { return _mm512_min_pd(a, b); }
static inline V muladd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
static inline V absolute(V a) { return _mm512_abs_pd(a); }
static inline V ratio(V a, V b) { return a / b; }

static inline V times_2_to(V a, V z)
{
    __m512i shift = _mm512_slli_epi64(_mm512_castpd_si512(z), 52);
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(a), shift));
}

static inline V root(V a) { return _mm512_sqrt_pd(a); }

static inline V with_sign(V a, V s)
{
    __m512i sign = _mm512_set1_epi64(INT64_MIN);
    return _mm512_castsi512_pd(
        _mm512_ternarylogic_epi64(sign, _mm512_castpd_si512(s), _mm512_castpd_si512(a), 0xca));
}

static inline V split_exponent(V a, V *z)
{
    const __m512i bias = _mm512_set1_epi64((int64_t)1023 << 52);
    __m512i bits = _mm512_castpd_si512(a);
    __m512i from = _mm512_sub_epi64(bits, _mm512_set1_epi64(0x3fe6a09e667f3bcd));
    __m512i n = _mm512_srli_epi64(_mm512_add_epi64(from, bias), 52);
    bits = _mm512_add_epi64(_mm512_sub_epi64(bits, _mm512_slli_epi64(n, 52)), bias);
    *z = _mm512_castsi512_pd(_mm512_add_epi64(n, _mm512_set1_epi64(0x4338000000000000 - 1023)));
    return _mm512_castsi512_pd(bits);
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
static inline M eq(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline V pick(M m, V a, V b) { return _mm512_mask_blend_ps(m, b, a); }
static inline V greater_of(V a, V b) { return _mm512_max_ps(a, b); }
static inline V lesser_of(V a, V b) { return _mm512_min_ps(a, b); }
static inline V muladd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
static inline V absolute(V a) { return _mm512_abs_ps(a); }
static inline V ratio(V a, V b) { return a / b; }

static inline V times_2_to(V a, V z)
{
    __m512i shift = _mm512_slli_epi32(_mm512_castps_si512(z), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), shift));
}

static inline V root(V a) { return _mm512_sqrt_ps(a); }

static inline V with_sign(V a, V s)
{
    __m512i sign = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(s), _mm512_castps_si512(a), 0xca));
}

static inline V split_exponent(V a, V *z)
{
    const __m512i bias = _mm512_set1_epi32((int32_t)127 << 23);
    __m512i bits = _mm512_castps_si512(a);
    __m512i from = _mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3));
    __m512i n = _mm512_srli_epi32(_mm512_add_epi32(from, bias), 23);
    bits = _mm512_add_epi32(_mm512_sub_epi32(bits, _mm512_slli_epi32(n, 23)), bias);
    *z = _mm512_castsi512_ps(_mm512_add_epi32(n, _mm512_set1_epi32(0x4b400000 - 127)));
    return _mm512_castsi512_ps(bits);
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

typedef struct VV {
    V a, b;
} VV;

/* 512 bits as two loads of 256: faster from L3 and memory in loops that also store. */
static inline __m512i load_halves(const void *p)
{
    const __m256i *half = p;
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(half)),
                              _mm256_loadu_si256(half + 1), 1);
}

/* How many of the first n elements of a pair in order are in b. Where there is none, b is not stored
 * at all: a store of nothing, too, would fetch a line that is perhaps to bypass the caches. */
static inline ptrdiff_t in_b(ptrdiff_t n) { return n > LANES ? n - LANES : 0; }

#if VJPI_COMPUTE_F64

static inline VV load_f64(const void *p)
{
    return (VV){ _mm512_loadu_pd(p), _mm512_loadu_pd((const double *)p + LANES) };
}

static inline VV load_f64_to_store(const void *p)
{
    return (VV){ (V)load_halves(p), (V)load_halves((const double *)p + LANES) };
}

static inline void store_f64(void *p, VV v)
{
    _mm512_storeu_pd(p, v.a);
    _mm512_storeu_pd((double *)p + LANES, v.b);
}

static inline void stream_f64(void *p, VV v)
{
    _mm256_stream_pd((double *)p, _mm512_castpd512_pd256(v.a));
    _mm256_stream_pd((double *)p + 4, _mm512_extractf64x4_pd(v.a, 1));
    _mm256_stream_pd((double *)p + 8, _mm512_castpd512_pd256(v.b));
    _mm256_stream_pd((double *)p + 12, _mm512_extractf64x4_pd(v.b, 1));
}

static inline VV load_some_f64(const void *p, ptrdiff_t n)
{
    return (VV){ _mm512_maskz_loadu_pd(first(n - in_b(n)), p),
                 _mm512_maskz_loadu_pd(first(in_b(n)), (const double *)p + LANES) };
}

static inline void store_some_f64(void *p, VV v, ptrdiff_t n)
{
    _mm512_mask_storeu_pd(p, first(n - in_b(n)), v.a);
    if (in_b(n) > 0)
        _mm512_mask_storeu_pd((double *)p + LANES, first(in_b(n)), v.b);
}

#else

static inline VV load_f32(const void *p)
{
    return (VV){ _mm512_loadu_ps(p), _mm512_loadu_ps((const float *)p + LANES) };
}

static inline VV load_f32_to_store(const void *p)
{
    return (VV){ (V)load_halves(p), (V)load_halves((const float *)p + LANES) };
}

static inline void store_f32(void *p, VV v)
{
    _mm512_storeu_ps(p, v.a);
    _mm512_storeu_ps((float *)p + LANES, v.b);
}

static inline void stream_f32(void *p, VV v)
{
    _mm256_stream_ps((float *)p, _mm512_castps512_ps256(v.a));
    _mm256_stream_ps((float *)p + 8, _mm512_extractf32x8_ps(v.a, 1));
    _mm256_stream_ps((float *)p + 16, _mm512_castps512_ps256(v.b));
    _mm256_stream_ps((float *)p + 24, _mm512_extractf32x8_ps(v.b, 1));
}

static inline VV load_some_f32(const void *p, ptrdiff_t n)
{
    return (VV){ _mm512_maskz_loadu_ps(first(n - in_b(n)), p),
                 _mm512_maskz_loadu_ps(first(in_b(n)), (const float *)p + LANES) };
}

static inline void store_some_f32(void *p, VV v, ptrdiff_t n)
{
    _mm512_mask_storeu_ps(p, first(n - in_b(n)), v.a);
    if (in_b(n) > 0)
        _mm512_mask_storeu_ps((float *)p + LANES, first(in_b(n)), v.b);
}

static inline VV by_parity(VV v)
{
    __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return (VV){ _mm512_permutex2var_ps(v.a, even, v.b), _mm512_permutex2var_ps(v.a, odd, v.b) };
}

static inline VV in_order(VV v)
{
    __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    return (VV){ _mm512_permutex2var_ps(v.a, low, v.b), _mm512_permutex2var_ps(v.a, high, v.b) };
}

typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint16_t eight __attribute__((vector_size(16)));

static inline void stream_eight(void *p, eight v) { _mm_stream_si128((__m128i *)p, (__m128i)v); }

/* Single loads: on Zen 4 a gather takes longer. */
static inline V look_up(const T *t, const bits16 *x, ptrdiff_t step)
{
    return (V){ t[x[0]], t[x[step]], t[x[2 * step]], t[x[3 * step]],
                t[x[4 * step]], t[x[5 * step]], t[x[6 * step]], t[x[7 * step]],
                t[x[8 * step]], t[x[9 * step]], t[x[10 * step]], t[x[11 * step]],
                t[x[12 * step]], t[x[13 * step]], t[x[14 * step]], t[x[15 * step]] };
}

static inline __m256i half_of_f16(V a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }

static inline VV load_f16(const void *p)
{
    return (VV){ _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)),
                 _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p + 1)) };
}

static inline void store_f16(void *p, VV v)
{
    _mm256_storeu_si256((__m256i *)p, half_of_f16(v.a));
    _mm256_storeu_si256((__m256i *)p + 1, half_of_f16(v.b));
}

static inline void stream_f16(void *p, VV v)
{
    _mm256_stream_si256((__m256i *)p, half_of_f16(v.a));
    _mm256_stream_si256((__m256i *)p + 1, half_of_f16(v.b));
}

static inline VV load_some_f16(const void *p, ptrdiff_t n)
{
    const __m256i *h = p;
    return (VV){ _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n - in_b(n)), h)),
                 _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(in_b(n)), h + 1)) };
}

static inline void store_some_f16(void *p, VV v, ptrdiff_t n)
{
    _mm256_mask_storeu_epi16((__m256i *)p, first(n - in_b(n)), half_of_f16(v.a));
    if (in_b(n) > 0)
        _mm256_mask_storeu_epi16((__m256i *)p + 1, first(in_b(n)), half_of_f16(v.b));
}

static inline V plain_nan(V a)
{
    return pick(_mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, k(__builtin_nanf("")));
}

static inline VV from_bf16(__m512i h)
{
    __m512i odd = _mm512_and_si512(h, _mm512_set1_epi32((int)0xffff0000));
    return (VV){ _mm512_castsi512_ps(_mm512_slli_epi32(h, 16)), _mm512_castsi512_ps(odd) };
}

/* Round to nearest even on the upper half: add 0x7fff, or 0x8000 where the half is odd. */
static inline __m512i round_bf16(V a)
{
    __m512i bits = _mm512_castps_si512(a);
    __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    __m512i half = _mm512_mask_blend_epi32(odd, _mm512_set1_epi32(0x7fff),
                                           _mm512_set1_epi32(0x8000));
    return _mm512_add_epi32(bits, half);
}

static inline __m512i to_bf16(VV v)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(round_bf16(v.a), 16),
                                   round_bf16(v.b));
}

static inline VV load_bf16(const void *p) { return from_bf16(_mm512_loadu_si512(p)); }
static inline void store_bf16(void *p, VV v) { _mm512_storeu_si512(p, to_bf16(v)); }

static inline void stream_bf16(void *p, VV v)
{
    __m512i h = to_bf16(v);
    _mm256_stream_si256((__m256i *)p, _mm512_castsi512_si256(h));
    _mm256_stream_si256((__m256i *)p + 1, _mm512_extracti64x4_epi64(h, 1));
}

static inline VV load_some_bf16(const void *p, ptrdiff_t n)
{
    return from_bf16(_mm512_maskz_loadu_epi16((1u << n) - 1, p));
}

static inline void store_some_bf16(void *p, VV v, ptrdiff_t n)
{
    _mm512_mask_storeu_epi16(p, (1u << n) - 1, to_bf16(v));
}

#endif
