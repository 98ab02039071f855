/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - every kernel of one instruction set and dtype, from ops.def.
 *
 * Compiled once per (ISA, dtype) with VJPI_ISA, VJPI_DTYPE, VJPI_COMPUTE (the type it is computed
 * in) and VJPI_LANES_HEADER. The bodies (pair.h, lines.h and those after it) are plain functions
 * over lanes; each kernel is one of them inlined with its formula and its counts as constants. */
#include <math.h>
#include <string.h>

#include "cpu/kernels.h"
#include "ops_counts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "repeat, in lines.h, relies on it");

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IS_F64_f64 1
#define VJPI_COMPUTE_F64 JOIN(IS_F64_, VJPI_COMPUTE)

/* UNROLL: loops over pairs of vectors; EVERY: over operands and the terms of polynomials, whose
 * numbers are constant; ONCE: no unrolling. */
#if defined(__clang__)
#define ONCE _Pragma("clang loop unroll(disable)")
#pragma clang diagnostic ignored \
    "-Wpass-failed" /* loops that are already gone cannot be unrolled */
#define UNROLL _Pragma("clang loop unroll_count(8)")
#define EVERY _Pragma("clang loop unroll(full)")
#else
#define ONCE _Pragma("GCC unroll 1")
#define UNROLL _Pragma("GCC unroll 8")
#define EVERY _Pragma("GCC unroll 32")
#endif
#define INLINE static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline, cold))

#include VJPI_LANES_HEADER
#define LETS_MADE 1
#include "formulas.h"

/* Elements handled at once, and partial sums in flight: 256 bytes of the compute type. */
#define BLOCK (256 / (int)sizeof(T))
#define PAIR (2 * LANES)
#define PAIRS (BLOCK / PAIR)
#define MAX_LEVELS 48

enum {
#define DTYPE(name, suffix, size, compute) SIZE_##name = size, CODE_##name = (int)VJP_##suffix,
#include "dtypes.def"
    SIZE = JOIN(SIZE_, VJPI_DTYPE)
};

static const int OWN_DTYPE = JOIN(CODE_, VJPI_DTYPE);

/* The order of the elements in a pair: lanes_scalar.h. */
#define BY_PARITY (JOIN(CODE_, VJPI_DTYPE) == (int)VJP_BF16)

#define LOAD JOIN(load_, VJPI_DTYPE)
#define LOAD_SOME JOIN(load_some_, VJPI_DTYPE)
#define STORE JOIN(store_, VJPI_DTYPE)
#define STORE_SOME JOIN(store_some_, VJPI_DTYPE)
#define STREAM JOIN(stream_, VJPI_DTYPE)
#define LOAD_T JOIN(load_, VJPI_COMPUTE)
#define LOAD_SOME_T JOIN(load_some_, VJPI_COMPUTE)
#define LOAD_T_TO_STORE JOIN(JOIN(load_, VJPI_COMPUTE), _to_store)
#define STORE_T JOIN(store_, VJPI_COMPUTE)
#define STORE_SOME_T JOIN(store_some_, VJPI_COMPUTE)
#define STREAM_T JOIN(stream_, VJPI_COMPUTE)

/* A pair in order converted to the order of the set's dtype, and back. */
#if VJPI_COMPUTE_F64
INLINE VV to_own_order(VV v) { return v; }
INLINE VV from_own_order(VV v) { return v; }
#else
INLINE VV to_own_order(VV v) { return BY_PARITY ? by_parity(v) : v; }
INLINE VV from_own_order(VV v) { return BY_PARITY ? in_order(v) : v; }
#endif

#include "cpu/pair.h"
#include "cpu/lines.h"
#include "cpu/across.h"
#include "cpu/whole_rows.h"
#include "cpu/maps.h"

/* ---- arrays of the compute type ----------------------------------------------------------- */

static void clear_sums(void *sums, ptrdiff_t n)
{
    memset(sums, 0, (size_t)n * sizeof(T));
}

static void clear_maxima(void *sums, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        ((T *)sums)[i] = (T)-INFINITY;
}

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

static void take_larger(void *sums, const void *more, ptrdiff_t n)
{
    T *to = sums;
    const T *from = more;
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* Whole pairs of sums as across_pair leaves them, put in order. */
static void order_sums(void *sums, ptrdiff_t n)
{
    for (T *at = sums; n >= PAIR; n -= PAIR, at += PAIR)
        store_T(at, LOAD_T(at));
}

static void store_own(const T *from, ptrdiff_t n, char *to, ptrdiff_t step)
{
    for (; step == SIZE && n >= PAIR; n -= PAIR, from += PAIR, to += PAIR * SIZE)
        STORE(to, load_T(from));
    for (ptrdiff_t i = 0; i < n; i++)
        STORE_SOME(to + i * step, ((VV){ k(from[i]), k(0) }), 1);
}

static void store_any(vjp_dtype dtype, const void *from, ptrdiff_t n, char *to, ptrdiff_t step)
{
    const T *numbers = from;
    if ((int)dtype == OWN_DTYPE) {
        store_own(numbers, n, to, step);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        store_mixed((int)dtype, to + i * step, (VV){ k(numbers[i]), k(0) }, 1);
}

static void load_any(vjp_dtype dtype, const char *from, ptrdiff_t step, ptrdiff_t n, void *to)
{
    T *numbers = to;
    for (ptrdiff_t i = 0; i < n; i++, from += step) {
        switch (dtype) {
#define STORED(name, suffix, size, type) \
        case VJP_##suffix: {             \
            type number;                 \
            memcpy(&number, from, size); \
            numbers[i] = (T)number;      \
            break;                       \
        }
#include "dtypes.def"
#define DTYPE(name, suffix, size, compute) case VJP_##suffix:
#include "dtypes.def"
            STORE_SOME_T(&numbers[i], from_own_order(load_mixed((int)dtype, from, 1)), 1);
        }
    }
}

/* ---- ops.def -> kernels ------------------------------------------------------------------- */

/* The role of each tensor in a kernel, and how it is stored. Row operands are already converted. */
#define IN(name, variable, dtype, shape) { VJPI_ROLE_##shape, STORED_##dtype },
#define OPT(name, variable, dtype, shape, value) { VJPI_ROLE_##shape, STORED_##dtype },
#define FULL(name, dtype, shape, ...) { VJPI_FULL, STORED_##dtype },
#define SUM(name, dtype, shape, ...) { VJPI_SUM, STORED_T },
#define PER_ROW(name, dtype, ...) { VJPI_PER_ROW, STORED_T },
#define OP(name, title, text, inputs, attributes, outputs, bounds)                        \
    static const tensor_code name##_tensors[] = { inputs outputs };                       \
    _Static_assert(name##_nheavy + name##_nlets > 0 ||                                    \
                       name##_nvalues + VJPI_MAX_TENSORS <= (int)COPIES,                  \
                   #name ": more row values than a short formula without ROWLETs may have");
#include "ops.def"

/* The kernels of one operator, for one value of CHOICE, with or without mixed dtypes. */
#define NAME(name, kind, variant) NAME_(name, kind, variant, VJPI_DTYPE, VJPI_ISA)
#define NAME_(...) NAME__(__VA_ARGS__)
#define NAME__(name, kind, variant, dtype, isa) vjpi_##name##variant##_##kind##_##dtype##_##isa
#define KERNEL(name, kind, variant, needed, call)                           \
    static void NAME(name, kind, variant)(const vjpi_tile *tile)            \
    {                                                                       \
        static const signature *const op = &NAME(name, signature, variant); \
        if (needed)                                                         \
            call;                                                           \
    }
/* Operators with ROWLETs have many operands, and kernels with their formulas inlined would be as
 * large as those of long ones: they are made in the same way. */
#define BY_BLOCKS(name) (name##_nheavy + name##_nlets > 0)
/* An operator whose rows may be masked or end early has two variants. The plain one supports
 * neither and, of a short formula, is inlined; the other is made like those of long formulas. */
#define LONG(name, choice) (BY_BLOCKS(name) || ((choice) && name##_has_plain))
#define PLAIN(name, choice) (!(choice) && name##_has_plain)
#define HAS_LETS(name, pass) (name##_nlets > 0 && name##_npasses > pass)
/* Long and short formulas are told apart here, not in an inlined function, so that the compiler
 * does not inline both bodies only to drop one: that was a third of its time. */
#define USE(name, part, scalars) ((use){ op, name##_formula, part, scalars, true, false })
#define PASS(name, part, choice, variant)                                                     \
    KERNEL(name, along##part, variant, part < name##_npasses,                                 \
           LONG(name, choice) ? along_heavy(op, part, part < name##_npasses - 1, tile)        \
                              : along_body(USE(name, part, part < name##_npasses - 1), tile)) \
    KERNEL(name, across##part, variant, part < name##_npasses,                                \
           LONG(name, choice) ? across_heavy(op, part, tile)                                  \
                              : across_body(USE(name, part, false), tile))
#define BLOCK_OF(name, part_name, part, choice, variant)                                          \
    static __attribute__((noinline)) void NAME(name, part_name, variant)(                         \
        const vjpi_tile *tile, char *const *data, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n,   \
        bool non_temporal, VV *sums)                                                              \
    {                                                                                             \
        static const signature *const op = &NAME(name, signature, variant);                       \
        if (LONG(name, choice))                                                                   \
            heavy_rows(op, name##_formula, part, tile, data, start, rows, n, non_temporal, sums); \
        else                                                                                      \
            light_rows(op, name##_formula, part, tile, data, start, rows, n, non_temporal);       \
    }
/* Passes of a short formula but the last have it inlined. */
#define IS_CALLED(name, part, choice) (LONG(name, choice) || (part) >= name##_npasses - 1)
#define BLOCK_ENTRY(name, part_name, part, choice, variant, needed) \
    (needed) && IS_CALLED(name, part, choice) ? NAME(name, part_name, variant) : NULL
#define BLOCKS(name, choice, variant)                                                       \
    BLOCK_OF(name, block0, 0, choice, variant)                                              \
    BLOCK_OF(name, block1, 1, choice, variant)                                              \
    BLOCK_OF(name, block2, 2, choice, variant)                                              \
    BLOCK_OF(name, block3, 3, choice, variant)                                              \
    BLOCK_OF(name, block_lets0, LETS, choice, variant)                                      \
    BLOCK_OF(name, block_lets1, LETS + 1, choice, variant)                                  \
    BLOCK_OF(name, block_lets2, LETS + 2, choice, variant)                                  \
    BLOCK_OF(name, block_lets3, LETS + 3, choice, variant)                                  \
    BLOCK_OF(name, block_per_row, PER_ROWS, choice, variant)                                \
    static block_function *const NAME(name, blocks, variant)[] = {                          \
        BLOCK_ENTRY(name, block0, 0, choice, variant, 1),                                   \
        BLOCK_ENTRY(name, block1, 1, choice, variant, name##_npasses > 1),                  \
        BLOCK_ENTRY(name, block2, 2, choice, variant, name##_npasses > 2),                  \
        BLOCK_ENTRY(name, block3, 3, choice, variant, name##_npasses > 3),                  \
        BLOCK_ENTRY(name, block_lets0, LETS, choice, variant, HAS_LETS(name, 0)),           \
        BLOCK_ENTRY(name, block_lets1, LETS + 1, choice, variant, HAS_LETS(name, 1)),       \
        BLOCK_ENTRY(name, block_lets2, LETS + 2, choice, variant, HAS_LETS(name, 2)),       \
        BLOCK_ENTRY(name, block_lets3, LETS + 3, choice, variant, HAS_LETS(name, 3)),       \
        BLOCK_ENTRY(name, block_per_row, PER_ROWS, choice, variant, name##_nper_row > 0)    \
    };
#define KERNELS(name, choice, mixed, variant, ...)                                         \
    static const signature NAME(name, signature, variant);                                 \
    BLOCKS(name, choice, variant)                                                          \
    static const signature NAME(name, signature, variant) = {                              \
        NAME(name, blocks, variant), name##_tensors, choice, name##_nin,                   \
        sizeof(name##_tensors) / sizeof(name##_tensors[0]) - name##_nin, name##_nsums,     \
        name##_nvalues, name##_nlets, name##_npasses, LONG(name, choice),                  \
        name##_nheavy > 0,                                                                 \
        PLAIN(name, choice), name##_nkept > 0, name##_nindex > 0, name##_nends > 0, mixed, \
        { 0 __VA_ARGS__ }                                                                  \
    };                                                                                     \
    PASS(name, 0, choice, variant)                                                         \
    PASS(name, 1, choice, variant)                                                         \
    PASS(name, 2, choice, variant)                                                         \
    PASS(name, 3, choice, variant)                                                         \
    KERNEL(name, map, variant, 1, map_tile(op, name##_npasses - 1, tile))                  \
    KERNEL(name, row, variant, name##_npasses > 1 && !LONG(name, choice),                  \
           row_tile(op, name##_formula, tile))                                             \
    LETS_OF(name, 0, variant)                                                              \
    LETS_OF(name, 1, variant)                                                              \
    LETS_OF(name, 2, variant)                                                              \
    LETS_OF(name, 3, variant)                                                              \
    KERNEL(name, per_row, variant, name##_nper_row > 0, map_tile(op, PER_ROWS, tile))
#define LETS_OF(name, part, variant)                                             \
    KERNEL(name, lets##part, variant, name##_nlets > 0 && part < name##_npasses, \
           map_tile(op, LETS + part, tile))
#define ROWSUM(...) +1
#define ROWMAX(...) +1 + VJPI_MAXIMUM
#define ROWLET(...) +VJPI_LET
#define KEEP(...) +VJPI_KEEP
#define THEN , 0
#define OP(name, title, text, inputs, attributes, outputs, bounds) \
    KERNELS(name, 0, false, , outputs)                             \
    KERNELS(name, 1, false, _chosen, outputs)                      \
    KERNELS(name, 0, true, _mixed, outputs)                        \
    KERNELS(name, 1, true, _chosen_mixed, outputs)
#include "ops.def"

#include "cpu/lookups.h"

/* Kernels and variants that an operator does not need are NULL here, and the compiler drops them. */
#define SUMS(name, part) \
    (part < name##_npasses - 1 || (part == name##_npasses - 1 && name##_nsums > 0))
#define ENTRY(name, kind, choice, variant, needed) (needed) ? NAME(name, kind, variant) : NULL
#define EITHER(name, kind, choice, variant, needed)                 \
    !(needed)                   ? NULL                              \
    : SERVES_BOTH(name, choice) ? NAME(name, kind, variant##_mixed) \
                                : NAME(name, kind, variant)
#define IS_MIXED(name) (SIZE == 2 ? name##_nmixed > 0 : SIZE == 4 && name##_nany > 0)
/* A long formula has one set of kernels for all dtypes, but for plain rows of one dtype. */
#define SERVES_BOTH(name, choice) (BY_BLOCKS(name) && IS_MIXED(name) && !PLAIN(name, choice))
#define HAS_MIXED(name) (IS_MIXED(name) && !(BY_BLOCKS(name) && name##_has_plain))
#define CHOSEN(name) (name##_nchoices > 0 || name##_has_plain)
#define ROW(ENTRY, name, choice, variant)                                                       \
    static const vjpi_kernels NAME(name, kernels, variant) = {                                  \
        { ENTRY(name, along0, choice, variant, SUMS(name, 0)),                                  \
          ENTRY(name, along1, choice, variant, SUMS(name, 1)),                                  \
          ENTRY(name, along2, choice, variant, SUMS(name, 2)),                                  \
          ENTRY(name, along3, choice, variant, SUMS(name, 3)) },                                \
        { ENTRY(name, across0, choice, variant, SUMS(name, 0)),                                 \
          ENTRY(name, across1, choice, variant, SUMS(name, 1)),                                 \
          ENTRY(name, across2, choice, variant, SUMS(name, 2)),                                 \
          ENTRY(name, across3, choice, variant, SUMS(name, 3)) },                               \
        ENTRY(name, map, choice, variant, name##_nfull > 0),                                    \
        ENTRY(name, row, choice, variant, name##_npasses > 1 && !LONG(name, choice)),           \
        { ENTRY(name, lets0, choice, variant, HAS_LETS(name, 0)),                               \
          ENTRY(name, lets1, choice, variant, HAS_LETS(name, 1)),                               \
          ENTRY(name, lets2, choice, variant, HAS_LETS(name, 2)),                               \
          ENTRY(name, lets3, choice, variant, HAS_LETS(name, 3)) },                             \
        ENTRY(name, per_row, choice, variant, name##_nper_row > 0)                              \
    };
#define OP(name, ...)                    \
    ROW(EITHER, name, 0, )               \
    ROW(ENTRY, name, 0, _mixed)          \
    ROW(EITHER, name, 1, _chosen)        \
    ROW(ENTRY, name, 1, _chosen_mixed)
#include "ops.def"

#define VARIANT(name, variant, needed) (needed) ? &NAME(name, kernels, variant) : NULL
#define OP(name, ...)                                                                        \
    { { &NAME(name, kernels, ), VARIANT(name, _mixed, HAS_MIXED(name)) },                    \
      { VARIANT(name, _chosen, CHOSEN(name)),                                                \
        VARIANT(name, _chosen_mixed, IS_MIXED(name) && CHOSEN(name)) } },
const vjpi_kernel_set JOIN(vjpi_kernel_set_, JOIN(VJPI_DTYPE, JOIN(_, VJPI_ISA))) = {
    sizeof(T),
    {
#include "ops.def"
    },
    { { .map = LOOKUP_KERNEL(values) }, { .map = LOOKUP_KERNEL(products) } },
    { clear_sums, clear_maxima },
    { add, take_larger },
    BY_PARITY ? order_sums : NULL,
    load_any,
    store_any
};
