/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ceiling.h - the fastest that two reads and one write can go: out[i] = a[i] | b[i].
 *
 * Two versions, since neither is the fastest everywhere: ordinary stores within the caches, 256-bit
 * non-temporal ones beyond. Both with AVX2 where the machine has it. The buffers are aligned to
 * 64 bytes and `size` (bytes of each) is a multiple of 64. */
#ifndef VJP_BENCH_CEILING_H
#define VJP_BENCH_CEILING_H

#include <stdint.h>

typedef void (*ceiling_function)(void *out, const void *a, const void *b, int64_t size);

static inline void ceiling_portable(void *out, const void *a, const void *b, int64_t size)
{
    uint64_t *to = out;
    const uint64_t *x = a, *y = b;
    for (int64_t i = 0; i < size / 8; i++)
        to[i] = x[i] | y[i];
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx2"))) static inline void ceiling_avx2(void *out, const void *a,
                                                                const void *b, int64_t size)
{
    __m256i *to = out;
    const __m256i *x = a, *y = b;
    for (int64_t i = 0; i < size / 32; i += 2) {
        to[i] = _mm256_or_si256(x[i], y[i]);
        to[i + 1] = _mm256_or_si256(x[i + 1], y[i + 1]);
    }
}

__attribute__((target("avx2"))) static inline void ceiling_avx2_streaming(void *out, const void *a,
                                                                          const void *b,
                                                                          int64_t size)
{
    __m256i *to = out;
    const __m256i *x = a, *y = b;
    for (int64_t i = 0; i < size / 32; i += 2) {
        _mm256_stream_si256(to + i, _mm256_or_si256(x[i], y[i]));
        _mm256_stream_si256(to + i + 1, _mm256_or_si256(x[i + 1], y[i + 1]));
    }
    _mm_sfence();
}

static inline void ceiling_plain(void *out, const void *a, const void *b, int64_t size)
{
    (__builtin_cpu_supports("avx2") ? ceiling_avx2 : ceiling_portable)(out, a, b, size);
}

static inline void ceiling_streaming(void *out, const void *a, const void *b, int64_t size)
{
    (__builtin_cpu_supports("avx2") ? ceiling_avx2_streaming : ceiling_portable)(out, a, b, size);
}

#else

static inline void ceiling_plain(void *out, const void *a, const void *b, int64_t size)
{
    ceiling_portable(out, a, b, size);
}

static inline void ceiling_streaming(void *out, const void *a, const void *b, int64_t size)
{
    ceiling_portable(out, a, b, size);
}

#endif

/* ceiling_run - the same on several threads of OpenMP, if the program is built with it. */
static inline void ceiling_run(ceiling_function triad, void *out, const void *a, const void *b,
                               int64_t size, int threads)
{
    int64_t part = size / threads / 64 * 64;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) if (threads > 1)
#endif
    for (int i = 0; i < threads; i++) {
        int64_t from = i * part, to = i + 1 < threads ? from + part : size;
        triad((char *)out + from, (const char *)a + from, (const char *)b + from, to - from);
    }
}

#endif
