/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ceiling.c - see bench_ceiling.h. */
#include "bench_ceiling.h"

#include <stddef.h>

static void portable(void *out, const void *a, const void *b, int64_t size)
{
    uint64_t *to = out;
    const uint64_t *x = a, *y = b;
    for (int64_t i = 0; i < size / 8; i++)
        to[i] = x[i] | y[i];
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx2"))) static void avx2(void *out, const void *a, const void *b,
                                                 int64_t size)
{
    __m256i *to = out;
    const __m256i *x = a, *y = b;
    for (int64_t i = 0; i < size / 32; i += 4) {
        __m256i first = _mm256_or_si256(x[i], y[i]), second = _mm256_or_si256(x[i + 1], y[i + 1]);
        __m256i third = _mm256_or_si256(x[i + 2], y[i + 2]);
        __m256i fourth = _mm256_or_si256(x[i + 3], y[i + 3]);
        to[i] = first;
        to[i + 1] = second;
        to[i + 2] = third;
        to[i + 3] = fourth;
    }
}

__attribute__((target("avx512f"))) static void avx512(void *out, const void *a, const void *b,
                                                      int64_t size)
{
    __m512i *to = out;
    const __m512i *x = a, *y = b;
    for (int64_t i = 0; i < size / 64; i += 2) {
        __m512i first = _mm512_or_si512(x[i], y[i]), second = _mm512_or_si512(x[i + 1], y[i + 1]);
        to[i] = first;
        to[i + 1] = second;
    }
}

__attribute__((target("avx2"))) static void avx2_streaming(void *out, const void *a, const void *b,
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

ceiling_function ceiling_at(int version)
{
    const ceiling_function versions[CEILINGS] = {
        portable,
        __builtin_cpu_supports("avx2") ? avx2 : NULL,
        __builtin_cpu_supports("avx512f") ? avx512 : NULL,
        __builtin_cpu_supports("avx2") ? avx2_streaming : NULL,
    };
    return versions[version];
}

#else

ceiling_function ceiling_at(int version)
{
    return version == 0 ? portable : NULL;
}

#endif

void ceiling_run(ceiling_function version, void *out, const void *a, const void *b, int64_t size,
                 int threads)
{
    int64_t part = size / threads / 128 * 128;
    if (threads == 1) { /* even a region of one thread costs more than small work */
        version(out, a, b, size);
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
    for (int i = 0; i < threads; i++) {
        int64_t from = i * part, to = i + 1 < threads ? from + part : size;
        version((char *)out + from, (const char *)a + from, (const char *)b + from, to - from);
    }
}
