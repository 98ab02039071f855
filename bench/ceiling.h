/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.h - the fastest that two reads and one write can go: out[i] = a[i] | b[i].
 *
 * With 256-bit non-temporal stores where the compiler targets x86-64, plain stores elsewhere. The
 * buffers are aligned to 64 bytes and `size` (bytes of each) is a multiple of 64. */
#ifndef VJP_BENCH_CEILING_H
#define VJP_BENCH_CEILING_H

#include <stdint.h>

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx2"))) static inline void ceiling_triad(void *out, const void *a,
                                                                 const void *b, int64_t size)
{
    __m256i *to = out;
    const __m256i *x = a, *y = b;
    for (int64_t i = 0; i < size / 32; i += 2) {
        _mm256_stream_si256(to + i, _mm256_or_si256(x[i], y[i]));
        _mm256_stream_si256(to + i + 1, _mm256_or_si256(x[i + 1], y[i + 1]));
    }
    _mm_sfence();
}

#else

static inline void ceiling_triad(void *out, const void *a, const void *b, int64_t size)
{
    uint64_t *to = out;
    const uint64_t *x = a, *y = b;
    for (int64_t i = 0; i < size / 8; i++)
        to[i] = x[i] | y[i];
}

#endif
#endif
