/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cases.c - what is measured, as data. */
#include <string.h>

#include "base.h"
#include "bench.h"

#define ALL { VJP_F32, VJP_BF16, VJP_F16, VJP_F64 }
#define NO_F64 { VJP_F32, VJP_F16, VJP_BF16, 0 }
#define HARD_SIGMOID LINE(1.0f / 6, 0.5f) /* the only one that PyTorch has */
#define NO_ATTRS { { 0 } }, 0

/* A row: name, operator, layout, attributes, shape; then slope shape, sizes, dtypes. */
#define ROW(name, op, layout, ...) { name, op, 0, 0, layout, __VA_ARGS__ }

enum {
    KI = 1 << 10,
    MI = 1 << 20
};

/* clang-format off */
#define FROM_CACHE_TO_MEMORY { 4 * KI, 64 * KI, MI, 16 * MI, 64 * MI, 0 }
#define IN_CACHE { 4 * KI, 64 * KI, 0 }
#define IN_MEMORY { MI, 16 * MI, 64 * MI, 0 }

static const bench_case cpu_cases[] = {
    { ROW("relu, one element", "relu_backward", NAMED_PLAIN, USE_DST(0), 1, { 1 }, NO_SLOPE),
      { 0 }, { VJP_F32 } },
    { ROW("relu", "relu_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      FROM_CACHE_TO_MEMORY, ALL },
    { ROW("hard_sigmoid", "hard_sigmoid_backward", NAMED_PLAIN, HARD_SIGMOID, 1, { FILL },
          NO_SLOPE), FROM_CACHE_TO_MEMORY, ALL },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      FROM_CACHE_TO_MEMORY, ALL },
    { ROW("sigmoid from dst", "sigmoid_backward", NAMED_PLAIN, USE_DST(1), 1, { FILL }, NO_SLOPE),
      FROM_CACHE_TO_MEMORY, ALL },
    { ROW("prelu NCX", "prelu_backward", NAMED_PLAIN, FORMAT("NCX"), 4, { FILL, 64, 8, 8 },
          1, { 64 }), IN_CACHE, ALL },
    { ROW("prelu NCX", "prelu_backward", NAMED_PLAIN, FORMAT("NCX"), 4, { FILL, 64, 112, 112 },
          1, { 64 }), IN_MEMORY, ALL },
    { ROW("prelu NXC", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { FILL, 1024 },
          1, { 1024 }), FROM_CACHE_TO_MEMORY, ALL },
    { ROW("prelu, one slope", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 1, { FILL },
          1, { 1 }), FROM_CACHE_TO_MEMORY, ALL },
    { ROW("softmax, rows of 1024", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 1024 },
          NO_SLOPE), FROM_CACHE_TO_MEMORY, ALL },
    { ROW("softmax, rows of 32768", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 32768 },
          NO_SLOPE), FROM_CACHE_TO_MEMORY, NO_F64 },
    { ROW("softmax, rows of 8192", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 8192 },
          NO_SLOPE), FROM_CACHE_TO_MEMORY, { VJP_F64 } },
    { ROW("softmax, axis 1", "softmax_backward", NAMED_PLAIN, AXIS(1), 4, { FILL, 64, 8, 8 },
          NO_SLOPE), IN_CACHE, ALL },
    { ROW("softmax, axis 1", "softmax_backward", NAMED_PLAIN, AXIS(1), 4, { FILL, 64, 112, 112 },
          NO_SLOPE), IN_MEMORY, ALL },
    { ROW("relu", "relu_backward", NAMED_CHANNELS_LAST, USE_DST(0), 4, { FILL, 64, 112, 112 },
          NO_SLOPE), { 16 * MI }, ALL },
    { ROW("relu", "relu_backward", NAMED_BROADCAST, USE_DST(0), 1, { FILL }, NO_SLOPE),
      { 16 * MI }, ALL },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_CHANNELS_LAST, USE_DST(0), 4,
          { FILL, 64, 112, 112 }, NO_SLOPE), { 16 * MI }, ALL },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_BROADCAST, USE_DST(0), 1, { FILL },
          NO_SLOPE), { 16 * MI }, ALL },
};

/* Every power of two from 2^6 to 2^28. */
#define POWERS \
    { 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, \
      1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25, \
      1 << 26, 1 << 27, 1 << 28, 0 }

static const bench_case growth_cases[] = {
    { ROW("relu", "relu_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      POWERS, { VJP_F32 } },
    { ROW("hard_sigmoid", "hard_sigmoid_backward", NAMED_PLAIN, HARD_SIGMOID, 1, { FILL },
          NO_SLOPE), POWERS, { VJP_F32 } },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      POWERS, { VJP_F32 } },
    { ROW("sigmoid from dst", "sigmoid_backward", NAMED_PLAIN, USE_DST(1), 1, { FILL }, NO_SLOPE),
      POWERS, { VJP_F32 } },
    { ROW("prelu, one slope", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 1, { FILL }, 1, { 1 }),
      POWERS, { VJP_F32 } },
    { ROW("prelu, 64 channels", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { FILL, 64 },
          1, { 64 }), POWERS, { VJP_F32 } },
    { ROW("softmax, rows of 64", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 64 },
          NO_SLOPE), POWERS, { VJP_F32 } },
};

/* Where an implementation may stumble: a power of two and its neighbours, an odd length, and the
 * twists. Lengths of rows stand for themselves in SoftMax and PReLU. */
#define AROUND_POWERS \
    { 4 * KI - 1, 4 * KI, 4 * KI + 1, 1000003, MI - 1, MI, MI + 1, 16 * MI - 1, 16 * MI, \
      16 * MI + 1, 0 }
#define ROW_TOTALS { 64 * KI, MI, 16 * MI, 0 }
#define WIDE_AND_NARROW { VJP_F32, VJP_BF16 }

static const bench_case cliff_cases[] = {
    { ROW("relu", "relu_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      AROUND_POWERS, WIDE_AND_NARROW },
    { ROW("hard_sigmoid", "hard_sigmoid_backward", NAMED_PLAIN, HARD_SIGMOID, 1, { FILL },
          NO_SLOPE), AROUND_POWERS, WIDE_AND_NARROW },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      AROUND_POWERS, WIDE_AND_NARROW },
    { ROW("sigmoid from dst", "sigmoid_backward", NAMED_PLAIN, USE_DST(1), 1, { FILL }, NO_SLOPE),
      AROUND_POWERS, WIDE_AND_NARROW },
    { ROW("prelu, one slope", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 1, { FILL }, 1, { 1 }),
      AROUND_POWERS, WIDE_AND_NARROW },
    { ROW("prelu NXC", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { FILL, 1023 },
          1, { 1023 }), ROW_TOTALS, WIDE_AND_NARROW },
    { ROW("prelu NXC", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { FILL, 1024 },
          1, { 1024 }), ROW_TOTALS, WIDE_AND_NARROW },
    { ROW("prelu NXC", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { FILL, 1025 },
          1, { 1025 }), ROW_TOTALS, WIDE_AND_NARROW },
    { ROW("softmax, rows", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 1023 },
          NO_SLOPE), ROW_TOTALS, WIDE_AND_NARROW },
    { ROW("softmax, rows", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 1024 },
          NO_SLOPE), ROW_TOTALS, WIDE_AND_NARROW },
    { ROW("softmax, rows", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 1025 },
          NO_SLOPE), ROW_TOTALS, WIDE_AND_NARROW },
};

#define MAP_SIZES { 4 * KI, 16 * MI, 256 * MI, 0 }
#define ROW_SIZES { 256 * MI, 0 }
#define SMALL { 4 * KI, 0 }

static const bench_case cuda_cases[] = {
    { ROW("relu", "relu_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      MAP_SIZES, ALL },
    { ROW("sigmoid from src", "sigmoid_backward", NAMED_PLAIN, USE_DST(0), 1, { FILL }, NO_SLOPE),
      MAP_SIZES, ALL },
    { ROW("sigmoid from dst", "sigmoid_backward", NAMED_PLAIN, USE_DST(1), 1, { FILL }, NO_SLOPE),
      MAP_SIZES, ALL },
    { ROW("hard_sigmoid", "hard_sigmoid_backward", NAMED_PLAIN, HARD_SIGMOID, 1, { FILL },
          NO_SLOPE), MAP_SIZES, ALL },
    { ROW("softmax, rows of 64", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 64 },
          NO_SLOPE), { 4 * KI, 256 * MI, 0 }, NO_F64 },
    { ROW("softmax, rows of 1024", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 1024 },
          NO_SLOPE), { 4 * KI, 256 * MI, 0 }, NO_F64 },
    { ROW("softmax, rows of 8192", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 8192 },
          NO_SLOPE), ROW_SIZES, NO_F64 },
    { ROW("softmax, rows of 32768", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 32768 },
          NO_SLOPE), ROW_SIZES, NO_F64 },
    { ROW("softmax, rows of 50257", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { 4096, 50257 },
          NO_SLOPE), { 0 }, NO_F64 },
    { ROW("softmax, rows of 65536", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 65536 },
          NO_SLOPE), ROW_SIZES, NO_F64 },
    { ROW("softmax, rows of 131072", "softmax_backward", NAMED_PLAIN, AXIS(1), 2, { FILL, 131072 },
          NO_SLOPE), ROW_SIZES, NO_F64 },
    { ROW("softmax, axis 1", "softmax_backward", NAMED_PLAIN, AXIS(1), 3, { 256, 1000, 1024 },
          NO_SLOPE), { 0 }, NO_F64 },
    { ROW("prelu NCX", "prelu_backward", NAMED_PLAIN, FORMAT("NCX"), 4, { FILL, 64, 8, 8 },
          1, { 64 }), SMALL, NO_F64 },
    { ROW("prelu NCX", "prelu_backward", NAMED_PLAIN, FORMAT("NCX"), 4, { 256, 64, 112, 112 },
          1, { 64 }), { 0 }, NO_F64 },
    { ROW("prelu NXC", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 2, { 65536, 4096 },
          1, { 4096 }), { 0 }, NO_F64 },
    { ROW("prelu, one slope", "prelu_backward", NAMED_PLAIN, FORMAT("NCX"), 4,
          { 256, 64, 112, 112 }, 1, { 1 }), { 0 }, NO_F64 },
    { ROW("prelu, slope of a sample", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 4,
          { 256, 64, 112, 112 }, 3, { 64, 112, 112 }), { 0 }, NO_F64 },
    { ROW("prelu, slope of a pixel", "prelu_backward", NAMED_PLAIN, FORMAT("NXC"), 4,
          { 256, 64, 112, 112 }, 3, { 1, 112, 112 }), { 0 }, NO_F64 },
    { ROW("relu, transposed", "relu_backward", NAMED_CHANNELS_LAST, USE_DST(0), 4,
          { 256, 64, 112, 112 }, NO_SLOPE), { 0 }, { VJP_F32, VJP_BF16 } },
};
/* clang-format on */

static const bench_set sets[] = {
    { VJP_CPU, "standard", cpu_cases, COUNT_OF(cpu_cases), false },
    { VJP_CPU, "growth", growth_cases, COUNT_OF(growth_cases), false },
    { VJP_CPU, "cliffs", cliff_cases, COUNT_OF(cliff_cases), true },
    { VJP_CUDA, "standard", cuda_cases, COUNT_OF(cuda_cases), false },
};

const bench_set *bench_set_of(vjp_device device, const char *name)
{
    for (int64_t i = 0; i < COUNT_OF(sets); i++)
        if (sets[i].device == device && !strcmp(sets[i].name, name))
            return &sets[i];
    return NULL;
}

bool bench_case_at(const bench_case *c, int64_t size, vjp_dtype dtype, named_problem *made)
{
    int64_t rest = 1;
    *made = c->problem;
    made->dtype = made->wide = dtype;
    if (made->shape[0] != FILL)
        return size == 0;
    for (int32_t d = 1; d < made->ndim; d++)
        rest *= made->shape[d];
    made->shape[0] = size / rest;
    return made->shape[0] > 0;
}
