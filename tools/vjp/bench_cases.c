/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cases.c - what is measured, as data: shapes for each kind of operator, tried with every
 * operator of that kind and each of its choices. */
#include <string.h>

#include "base.h"
#include "bench.h"
#include "kinds.h"

#define ALL { VJP_F32, VJP_BF16, VJP_F16, VJP_F64 }
#define NO_F64 { VJP_F32, VJP_F16, VJP_BF16, 0 }

enum {
    KI = 1 << 10,
    MI = 1 << 20
};

/* A row: what follows the operator in its name (@ is its parameter), kind, layout, the dim of rows
 * or channels, shape, the parameter's shape, sizes, dtypes. */
/* clang-format off */
#define FROM_CACHE_TO_MEMORY { 4 * KI, 64 * KI, MI, 16 * MI, 64 * MI, 0 }
#define IN_CACHE { 4 * KI, 64 * KI, 0 }
#define IN_MEMORY { MI, 16 * MI, 64 * MI, 0 }

static const bench_case cpu_cases[] = {
    { "", SHAPED_MAP, NAMED_PLAIN, 0, 1, { FILL }, NO_SLOPE, FROM_CACHE_TO_MEMORY, ALL },
    { "", SHAPED_MAP, NAMED_CHANNELS_LAST, 1, 4, { FILL, 64, 112, 112 }, NO_SLOPE, { 16 * MI }, ALL },
    { "", SHAPED_MAP, NAMED_BROADCAST, 0, 1, { FILL }, NO_SLOPE, { 16 * MI }, ALL },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { FILL, 64, 8, 8 }, 1, { 64 }, IN_CACHE, ALL },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { FILL, 64, 112, 112 }, 1, { 64 }, IN_MEMORY, ALL },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 1024 }, 1, { 1024 },
      FROM_CACHE_TO_MEMORY, ALL },
    { ", one @", SHAPED_FOLD, NAMED_PLAIN, 0, 1, { FILL }, 1, { 1 }, FROM_CACHE_TO_MEMORY, ALL },
    { ", rows of 1024", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1024 }, NO_SLOPE,
      FROM_CACHE_TO_MEMORY, ALL },
    { ", rows of 32768", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 32768 }, NO_SLOPE,
      FROM_CACHE_TO_MEMORY, NO_F64 },
    { ", rows of 8192", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 8192 }, NO_SLOPE,
      FROM_CACHE_TO_MEMORY, { VJP_F64 } },
    { ", axis 1", SHAPED_ROW, NAMED_PLAIN, 1, 4, { FILL, 64, 8, 8 }, NO_SLOPE, IN_CACHE, ALL },
    { ", axis 1", SHAPED_ROW, NAMED_PLAIN, 1, 4, { FILL, 64, 112, 112 }, NO_SLOPE, IN_MEMORY, ALL },
    { ", one element", SHAPED_MAP, NAMED_PLAIN, 0, 1, { 1 }, NO_SLOPE, { 0 }, { VJP_F32 } },
};

/* What other libraries have operators for, at three sizes: in the first cache, beyond the second,
 * and in memory. */
#define THREE_SIZES { 4 * KI, MI, 16 * MI, 0 }
#define LARGER_TWO { MI, 16 * MI, 0 }

static const bench_case peer_cases[] = {
    { "", SHAPED_MAP, NAMED_PLAIN, 0, 1, { FILL }, NO_SLOPE, THREE_SIZES, NO_F64 },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { FILL, 64, 8, 8 }, 1, { 64 }, { 4 * KI }, NO_F64 },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { FILL, 64, 112, 112 }, 1, { 64 }, LARGER_TWO,
      NO_F64 },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 1024 }, 1, { 1024 }, THREE_SIZES, NO_F64 },
    { ", one @", SHAPED_FOLD, NAMED_PLAIN, 0, 1, { FILL }, 1, { 1 }, THREE_SIZES, NO_F64 },
    { ", rows of 1024", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1024 }, NO_SLOPE, THREE_SIZES,
      NO_F64 },
    { ", rows of 32768", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 32768 }, NO_SLOPE, LARGER_TWO,
      NO_F64 },
    { ", axis 1", SHAPED_ROW, NAMED_PLAIN, 1, 4, { FILL, 64, 8, 8 }, NO_SLOPE, { 4 * KI }, NO_F64 },
    { ", axis 1", SHAPED_ROW, NAMED_PLAIN, 1, 4, { FILL, 64, 112, 112 }, NO_SLOPE, LARGER_TWO,
      NO_F64 },
};

/* Every power of two from 2^6 to 2^28. */
#define POWERS \
    { 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, \
      1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25, \
      1 << 26, 1 << 27, 1 << 28, 0 }

static const bench_case growth_cases[] = {
    { "", SHAPED_MAP, NAMED_PLAIN, 0, 1, { FILL }, NO_SLOPE, POWERS, { VJP_F32 } },
    { ", one @", SHAPED_FOLD, NAMED_PLAIN, 0, 1, { FILL }, 1, { 1 }, POWERS, { VJP_F32 } },
    { ", 64 channels", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 64 }, 1, { 64 }, POWERS,
      { VJP_F32 } },
    { ", rows of 64", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 64 }, NO_SLOPE, POWERS, { VJP_F32 } },
};

/* Where an implementation may stumble: a power of two and its neighbours, an odd length, and the
 * twists. */
#define AROUND_POWERS \
    { 4 * KI - 1, 4 * KI, 4 * KI + 1, 1000003, MI - 1, MI, MI + 1, 16 * MI - 1, 16 * MI, \
      16 * MI + 1, 0 }
#define ROW_TOTALS { 64 * KI, MI, 16 * MI, 0 }
#define WIDE_AND_NARROW { VJP_F32, VJP_BF16 }

static const bench_case cliff_cases[] = {
    { "", SHAPED_MAP, NAMED_PLAIN, 0, 1, { FILL }, NO_SLOPE, AROUND_POWERS, WIDE_AND_NARROW },
    { ", one @", SHAPED_FOLD, NAMED_PLAIN, 0, 1, { FILL }, 1, { 1 }, AROUND_POWERS,
      WIDE_AND_NARROW },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 1023 }, 1, { 1023 }, ROW_TOTALS,
      WIDE_AND_NARROW },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 1024 }, 1, { 1024 }, ROW_TOTALS,
      WIDE_AND_NARROW },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { FILL, 1025 }, 1, { 1025 }, ROW_TOTALS,
      WIDE_AND_NARROW },
    { ", rows", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1023 }, NO_SLOPE, ROW_TOTALS,
      WIDE_AND_NARROW },
    { ", rows", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1024 }, NO_SLOPE, ROW_TOTALS,
      WIDE_AND_NARROW },
    { ", rows", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1025 }, NO_SLOPE, ROW_TOTALS,
      WIDE_AND_NARROW },
};

#define MAP_SIZES { 4 * KI, 16 * MI, 256 * MI, 0 }
#define ROW_SIZES { 256 * MI, 0 }
#define SMALL { 4 * KI, 0 }

static const bench_case cuda_cases[] = {
    { "", SHAPED_MAP, NAMED_PLAIN, 0, 1, { FILL }, NO_SLOPE, MAP_SIZES, ALL },
    { ", rows of 64", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 64 }, NO_SLOPE,
      { 4 * KI, 256 * MI, 0 }, NO_F64 },
    { ", rows of 1024", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 1024 }, NO_SLOPE,
      { 4 * KI, 256 * MI, 0 }, NO_F64 },
    { ", rows of 8192", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 8192 }, NO_SLOPE, ROW_SIZES, NO_F64 },
    { ", rows of 32768", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 32768 }, NO_SLOPE, ROW_SIZES,
      NO_F64 },
    { ", rows of 50257", SHAPED_ROW, NAMED_PLAIN, 1, 2, { 4096, 50257 }, NO_SLOPE, { 0 }, NO_F64 },
    { ", rows of 65536", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 65536 }, NO_SLOPE, ROW_SIZES,
      NO_F64 },
    { ", rows of 131072", SHAPED_ROW, NAMED_PLAIN, 1, 2, { FILL, 131072 }, NO_SLOPE, ROW_SIZES,
      NO_F64 },
    { ", axis 1", SHAPED_ROW, NAMED_PLAIN, 1, 3, { 256, 1000, 1024 }, NO_SLOPE, { 0 }, NO_F64 },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { FILL, 64, 8, 8 }, 1, { 64 }, SMALL, NO_F64 },
    { " NCX", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { 256, 64, 112, 112 }, 1, { 64 }, { 0 }, NO_F64 },
    { " NXC", SHAPED_FOLD, NAMED_PLAIN, 1, 2, { 65536, 4096 }, 1, { 4096 }, { 0 }, NO_F64 },
    { ", one @", SHAPED_FOLD, NAMED_PLAIN, 1, 4, { 256, 64, 112, 112 }, 1, { 1 }, { 0 }, NO_F64 },
    { ", @ of a sample", SHAPED_FOLD, NAMED_PLAIN, 3, 4, { 256, 64, 112, 112 },
      3, { 64, 112, 112 }, { 0 }, NO_F64 },
    { ", @ of a pixel", SHAPED_FOLD, NAMED_PLAIN, 3, 4, { 256, 64, 112, 112 },
      3, { 1, 112, 112 }, { 0 }, NO_F64 },
    { ", transposed", SHAPED_MAP, NAMED_CHANNELS_LAST, 1, 4, { 256, 64, 112, 112 }, NO_SLOPE,
      { 0 }, { VJP_F32, VJP_BF16 } },
};
/* clang-format on */

static const bench_set sets[] = {
    { VJP_CPU, "standard", cpu_cases, COUNT_OF(cpu_cases), false, false },
    { VJP_CPU, "peers", peer_cases, COUNT_OF(peer_cases), false, true },
    { VJP_CPU, "growth", growth_cases, COUNT_OF(growth_cases), false, false },
    { VJP_CPU, "cliffs", cliff_cases, COUNT_OF(cliff_cases), true, false },
    { VJP_CUDA, "standard", cuda_cases, COUNT_OF(cuda_cases), false, false },
};

const bench_set *bench_set_of(vjp_device device, const char *name)
{
    for (int64_t i = 0; i < COUNT_OF(sets); i++)
        if (sets[i].device == device && !strcmp(sets[i].name, name))
            return &sets[i];
    return NULL;
}
