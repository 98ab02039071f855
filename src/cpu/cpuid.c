/* SPDX-License-Identifier: Apache-2.0 */
/* cpuid.c - CPU detection. An instruction set is usable if the CPU reports it and the operating
 * system reports that it saves the registers. */
#include <string.h>
#include <unistd.h>

#include "cpu/kernels.h"

#define CACHE_SIZE_UNKNOWN (32 << 20)

#if defined(__x86_64__)
#include <cpuid.h>

enum { XMM_YMM = 0x6, XMM_YMM_ZMM = 0xe6 };

/* The register states that the operating system saves; 0 if unknown. */
static uint32_t saved_states(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static inline bool has_avx2(void)
{
    uint32_t a, b, c, d;
    const uint32_t wanted = bit_FMA | bit_AVX | bit_F16C;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & wanted) != wanted)
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return false;
    return (saved_states() & XMM_YMM) == XMM_YMM;
}

static inline bool has_avx512(void)
{
    uint32_t a, b, c, d;
    const uint32_t wanted = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (!has_avx2() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & wanted) != wanted)
        return false;
    return (saved_states() & XMM_YMM_ZMM) == XMM_YMM_ZMM;
}

/* The largest cache in a leaf that describes caches (4 on Intel, 0x8000001d on AMD). */
static int64_t largest_cache(uint32_t leaf)
{
    uint32_t a, b, c, d;
    int64_t largest = 0;
    for (uint32_t i = 0; i < 16 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && (a & 31); i++) {
        int64_t ways = (b >> 22) + 1, partitions = (b >> 12 & 1023) + 1, line = (b & 4095) + 1;
        int64_t size = ways * partitions * line * ((int64_t)c + 1);
        largest = size > largest ? size : largest;
    }
    return largest;
}

#elif defined(__aarch64__)

static inline bool has_neon(void)
{
    return true; /* Advanced SIMD is part of the architecture */
}

#endif

static inline bool has_scalar(void)
{
    return true;
}

/* VJPI_ISAS of the build: ISA(name) for each instruction set that it has, the best last. */
#define ISA(name) extern const vjpi_isa vjpi_isa_##name;
VJPI_ISAS
#undef ISA

static const struct {
    const vjpi_isa *isa;
    bool (*has)(void);
} isas[] = {
#define ISA(name) { &vjpi_isa_##name, has_##name },
    VJPI_ISAS
};

const vjpi_isa *vjpi_lower_isa(const vjpi_isa *a, const vjpi_isa *b)
{
    size_t i = 0;
    while (isas[i].isa != a && isas[i].isa != b)
        i++;
    return isas[i].isa;
}

const vjpi_isa *vjpi_best_isa(const char *cap)
{
    const vjpi_isa *best = NULL;
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
        if (isas[i].has())
            best = isas[i].isa;
        if (cap && strcmp(cap, isas[i].isa->name) == 0)
            return best;
    }
    return cap ? NULL : best;
}

/* Not sysconf where CPUID works: sysconf may count the caches of other core complexes, which our
 * cores cannot use. */
int64_t vjpi_cache_size(void)
{
    int64_t size = 0;
#if defined(__x86_64__)
    int64_t intel = largest_cache(4), amd = largest_cache(0x8000001d);
    size = intel > amd ? intel : amd;
#elif defined(_SC_LEVEL3_CACHE_SIZE)
    size = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return size > 0 ? size : CACHE_SIZE_UNKNOWN;
}
