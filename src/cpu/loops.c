/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - every kernel of one instruction set and dtype, from ops.def.
 *
 * Compiled once per (ISA, dtype) with VJPI_ISA, VJPI_DTYPE, VJPI_COMPUTE (the type it is computed
 * in) and VJPI_LANES_HEADER. The bodies (pair.h, lines.h) are plain functions over lanes; each
 * kernel is one of them inlined with its formula and its counts as constants. */
#include <string.h>

#include "cpu/kernels.h"
#include "ops_counts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "repeat, in lines.h, relies on it");

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IS_F64_f64 1
#define VJPI_COMPUTE_F64 JOIN(IS_F64_, VJPI_COMPUTE)
#define IS_BY_PARITY_bf16 1
#if JOIN(IS_BY_PARITY_, VJPI_DTYPE)
#define BY_PARITY 1 /* the order of the elements in a pair: lanes_scalar.h */
#else
#define BY_PARITY 0
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define INLINE static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline, cold))

#include VJPI_LANES_HEADER
#include "formulas.h"

/* Elements handled at once, and partial sums in flight: 256 bytes of the compute type. */
#define BLOCK (256 / (int)sizeof(T))
#define PAIR (2 * LANES)
#define PAIRS (BLOCK / PAIR)
#define MAX_LEVELS 48

enum {
#define DTYPE(name, suffix, size, compute) SIZE_##name = size,
#include "dtypes.def"
#undef DTYPE
    SIZE = JOIN(SIZE_, VJPI_DTYPE)
};

#define LOAD JOIN(load_, VJPI_DTYPE)
#define LOAD_SOME JOIN(load_some_, VJPI_DTYPE)
#define STORE JOIN(store_, VJPI_DTYPE)
#define STORE_SOME JOIN(store_some_, VJPI_DTYPE)
#define STREAM JOIN(stream_, VJPI_DTYPE)
#define LOAD_T JOIN(load_, VJPI_COMPUTE)
#define LOAD_T_TO_STORE JOIN(JOIN(load_, VJPI_COMPUTE), _to_store)
#define STORE_T JOIN(store_, VJPI_COMPUTE)

#include "cpu/pair.h"
#include "cpu/lines.h"

static void add(void *sums, const void *more, ptrdiff_t n)
{
    T *to = sums;
    const T *from = more;
    for (; n >= PAIR; n -= PAIR, to += PAIR, from += PAIR) {
        VV a = LOAD_T(to), b = LOAD_T(from);
        STORE_T(to, ((VV){ a.a + b.a, a.b + b.b }));
    }
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] = to[i] + from[i];
}

/* Whole pairs of sums as across_pair leaves them, put in order. */
static void order_sums(void *sums, ptrdiff_t n)
{
    for (T *at = sums; n >= PAIR; n -= PAIR, at += PAIR)
        store_T(at, LOAD_T(at));
}

static void store_sums(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step)
{
    const T *from = sums;
    for (; step == SIZE && n >= PAIR; n -= PAIR, from += PAIR, to += PAIR * SIZE)
        STORE(to, load_T(from));
    for (ptrdiff_t i = 0; i < n; i++)
        STORE_SOME(to + i * step, ((VV){ k(from[i]), k(0) }), 1);
}

static void store_sums_wide(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step)
{
    const T *from = sums;
    for (; step == sizeof(T) && n >= PAIR; n -= PAIR, from += PAIR, to += PAIR * sizeof(T))
        STORE_T(to, LOAD_T(from));
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(to + i * step, &from[i], sizeof(T));
}

/* ---- ops.def -> kernels ------------------------------------------------------------------- */

/* The kernels, for both answers to CHOICE and both kinds of WIDE tensors. */
#define KERNEL(name, kind) KERNEL_(name, kind, CHOSEN, WIDENED, VJPI_DTYPE, VJPI_ISA)
#define KERNEL_(...) KERNEL__(__VA_ARGS__)
#define KERNEL__(name, kind, chosen, widened, dtype, isa) \
    vjpi_##name##chosen##_##kind##_##dtype##widened##_##isa

#define CHOICE_VALUE 0
#define CHOSEN
#define WIDE_VALUE 0
#define WIDENED
#include "cpu/instance.h"
#undef WIDE_VALUE
#undef WIDENED
#define WIDE_VALUE 1
#define WIDENED _f32
#include "cpu/instance.h"
#undef CHOICE_VALUE
#undef CHOSEN
#define CHOICE_VALUE 1
#define CHOSEN _chosen
#include "cpu/instance.h"
#undef WIDE_VALUE
#undef WIDENED
#define WIDE_VALUE 0
#define WIDENED
#include "cpu/instance.h"

/* What an operator does not need is NULL here, and the compiler drops it. */
#define ENTRY(needed, name, kind, chosen, widened) \
    (needed) ? KERNEL_(name, kind, chosen, widened, VJPI_DTYPE, VJPI_ISA) : NULL
#define ROW(name, wanted, chosen, widened)                                                      \
    {                                                                                           \
        ENTRY((wanted) && name##_nsums == 0, name, map, chosen, widened),                       \
        ENTRY((wanted) && name##_nsums + name##_nrowsums > 0, name, along, chosen, widened),    \
        ENTRY((wanted) && name##_nsums + name##_nrowsums > 0, name, across, chosen, widened),   \
        ENTRY((wanted) && name##_nrowsums > 0, name, row, chosen, widened)                      \
    }
#define OP(name, ...)                                                         \
    { { ROW(name, 1, , ), ROW(name, SIZE == 2 && name##_nwide > 0, , _f32) }, \
      { ROW(name, name##_nchoices > 0, _chosen, ),                            \
        ROW(name, SIZE == 2 && name##_nwide > 0 && name##_nchoices > 0, _chosen, _f32) } },
const vjpi_kernel_set JOIN(vjpi_kernel_set_, JOIN(VJPI_DTYPE, JOIN(_, VJPI_ISA))) = {
    sizeof(T),
    {
#include "ops.def"
    },
    add, BY_PARITY ? order_sums : NULL, store_sums, store_sums_wide
};
