/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - every kernel of one instruction set and dtype, from ops.def.
 *
 * Compiled once per (ISA, dtype) with VJPI_ISA, VJPI_DTYPE and VJPI_LANES_HEADER. The bodies are
 * plain functions over lanes; each kernel is one of them inlined with its formula and its counts
 * as constants. An element's place in a sum depends on its index in the tile alone: BLOCK
 * partial sums, whatever the width of a vector. Nothing outside a tile is read or written. */
#include <string.h>

#include "cpu/kernels.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IS_F64_f64 1
#define VJPI_COMPUTE_F64 JOIN(IS_F64_, VJPI_DTYPE)
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

#include VJPI_LANES_HEADER
#include "cpu/formulas.h"

/* Elements handled at once, and partial sums in flight: 256 bytes of the compute type. */
#define BLOCK (256 / (int)sizeof(T))
#define PAIR (2 * LANES)
#define PAIRS (BLOCK / PAIR)
#define MAX_SUMS 2
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
#if VJPI_COMPUTE_F64
#define COMPUTE f64
#else
#define COMPUTE f32
#endif

/* The compute type in memory, in the order of the dtype's pairs. */
INLINE VV load_T(const void *p)
{
#if BY_PARITY
    return by_parity(JOIN(load_, COMPUTE)(p));
#else
    return JOIN(load_, COMPUTE)(p);
#endif
}

INLINE VV load_some_T(const void *p, ptrdiff_t n)
{
#if BY_PARITY
    return by_parity(JOIN(load_some_, COMPUTE)(p, n));
#else
    return JOIN(load_some_, COMPUTE)(p, n);
#endif
}

INLINE VV ordered(VV v)
{
#if BY_PARITY
    return in_order(v);
#else
    return v;
#endif
}

INLINE void store_T(void *p, VV v) { JOIN(store_, COMPUTE)(p, ordered(v)); }
INLINE void stream_T(void *p, VV v) { JOIN(stream_, COMPUTE)(p, ordered(v)); }

INLINE void store_some_T(void *p, VV v, ptrdiff_t n)
{
    JOIN(store_some_, COMPUTE)(p, ordered(v), n);
}

/* The first n elements of a pair; 0 in the others. */
INLINE VV keep_first(VV v, ptrdiff_t n)
{
    ptrdiff_t in_a = BY_PARITY ? (n + 1) / 2 : n < LANES ? n : LANES;
    return (VV){ pick(first(in_a), v.a, k(0)), pick(first(n - in_a), v.b, k(0)) };
}

/* What the compiler is to know of a kernel. wide[i]: operand i is of the compute type. */
typedef struct shape {
    formula *formula;
    int part, choice, nin, nfull, nsums, noperands;
    bool wide[VJPI_MAX_OPERANDS];
} shape;

INLINE ptrdiff_t size_of(const shape *s, int i)
{
    return s->wide[i] ? (ptrdiff_t)sizeof(T) : SIZE;
}

INLINE VV load(const shape *s, int i, const char *p, ptrdiff_t some)
{
    if (some)
        return s->wide[i] ? load_some_T(p, some) : LOAD_SOME(p, some);
    return s->wide[i] ? load_T(p) : LOAD(p);
}

INLINE void store(const shape *s, int i, char *p, VV v, ptrdiff_t some, bool stream)
{
    if (some && s->wide[i])
        store_some_T(p, v, some);
    else if (some)
        STORE_SOME(p, v, some);
    else if (stream && s->wide[i])
        stream_T(p, v);
    else if (stream)
        STREAM(p, v);
    else if (s->wide[i])
        store_T(p, v);
    else
        STORE(p, v);
}

/* One pair of vectors at element `at` of the current block: load, compute, store the FULL outputs
 * and leave the sums' terms in terms[]. some > 0: that many elements only. */
INLINE void pair(const shape *s, const double *constants, char *const *data, ptrdiff_t at,
                 ptrdiff_t some, bool stream, VV *terms)
{
    V in_a[VJPI_MAX_OPERANDS], in_b[VJPI_MAX_OPERANDS];
    V out_a[VJPI_MAX_OPERANDS], out_b[VJPI_MAX_OPERANDS];
    int nfull = s->part == OUTS ? s->nfull : 0;
    bool has_rowsum = s->part == OUTS && s->noperands > s->nin + s->nfull;
    UNROLL
    for (int i = 0; i < s->nin + has_rowsum; i++) {
        int operand = i < s->nin ? i : s->noperands - 1;
        VV v = load(s, operand, data[operand] + at * size_of(s, operand), some);
        in_a[i] = v.a;
        in_b[i] = v.b;
    }
    s->formula(s->part, s->choice, in_a, constants, out_a);
    s->formula(s->part, s->choice, in_b, constants, out_b);
    UNROLL
    for (int i = 0; i < nfull; i++)
        store(s, s->nin + i, data[s->nin + i] + at * size_of(s, s->nin + i),
              (VV){ out_a[i], out_b[i] }, some, stream);
    UNROLL
    for (int i = 0; i < s->nsums; i++) {
        VV term = { out_a[nfull + i], out_b[nfull + i] };
        terms[i] = some ? keep_first(term, some) : term;
    }
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A line: the operands of one row, and how far each moves in a block (0 if repeated). */
typedef struct line {
    char *data[VJPI_MAX_OPERANDS];
    ptrdiff_t move[VJPI_MAX_OPERANDS];
} line;

/* Where repeated operands are laid out: apart from the line, whose pointers can then stay in
 * registers while data is stored. */
typedef struct copies {
    _Alignas(64) char of[VJPI_MAX_OPERANDS][BLOCK * sizeof(T)];
} copies;

/* Lay out one element BLOCK times, so that a repeated operand is loaded like any other. */
INLINE void repeat(char *to, const char *from, ptrdiff_t size)
{
    for (ptrdiff_t i = 0; i < BLOCK; i++)
        memcpy(to + i * size, from, (size_t)size);
}

INLINE void line_begin(const shape *s, const vjpi_tile *tile, ptrdiff_t row, line *l, copies *c)
{
    UNROLL
    for (int i = 0; i < s->noperands; i++) {
        l->data[i] = tile->data[i] + row * tile->row_step[i];
        l->move[i] = BLOCK * size_of(s, i);
        if (tile->repeated >> i & 1) {
            repeat(c->of[i], l->data[i], size_of(s, i));
            l->data[i] = c->of[i];
            l->move[i] = 0;
        }
    }
}

/* Move every operand on by `elements` of the BLOCK that move[] stands for. */
INLINE void line_move(const shape *s, line *l, ptrdiff_t elements)
{
    UNROLL
    for (int i = 0; i < s->noperands; i++)
        l->data[i] += elements == BLOCK ? l->move[i] : l->move[i] / BLOCK * elements;
}

/* Elements to do one by one before the first FULL output is aligned for streaming; -1 if the
 * FULL outputs cannot all be. */
INLINE ptrdiff_t stream_lead(const shape *s, const line *l)
{
    ptrdiff_t lead = 0;
    UNROLL
    for (int i = s->nin; i < s->nin + s->nfull; i++) {
        ptrdiff_t bytes = PAIR * size_of(s, i) < 32 ? PAIR * size_of(s, i) : 32;
        ptrdiff_t own = (-(ptrdiff_t)(uintptr_t)l->data[i] & (bytes - 1)) / size_of(s, i);
        if (i > s->nin && own != lead)
            return -1;
        lead = own;
    }
    return lead;
}

INLINE void map_line(const shape *s, const double *constants, line *l, ptrdiff_t n, bool stream)
{
    ptrdiff_t lead = stream ? stream_lead(s, l) : 0;
    if (lead > 0 && lead < n) {
        pair(s, constants, l->data, 0, lead, false, NULL);
        line_move(s, l, lead);
        n -= lead;
    }
    for (; n >= BLOCK; n -= BLOCK) {
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            pair(s, constants, l->data, p * PAIR, 0, stream, NULL);
        line_move(s, l, BLOCK);
    }
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        pair(s, constants, l->data, at, 0, false, NULL);
    if (at < n)
        pair(s, constants, l->data, at, n - at, false, NULL);
}

/* BLOCK partial sums as one: element i with i + BLOCK / 2, and so on down to i with i + 1. */
INLINE T sum_block(VV *sums)
{
    for (int width = PAIRS / 2; width > 0; width /= 2)
        for (int p = 0; p < width; p++) {
            sums[p].a = sums[p].a + sums[p + width].a;
            sums[p].b = sums[p].b + sums[p + width].b;
        }
    return BY_PARITY ? sum_lanes(sums[0].a) + sum_lanes(sums[0].b)
                     : sum_lanes(sums[0].a + sums[0].b);
}

/* Up to VJPI_CHAIN blocks of a line; their sum goes to chain[]. Moves the line on. */
INLINE void along_chain(const shape *s, const double *constants, line *l, ptrdiff_t n, bool stream,
                        T *chain)
{
    VV sums[MAX_SUMS][PAIRS], terms[MAX_SUMS];
    for (int i = 0; i < s->nsums; i++)
        for (int p = 0; p < PAIRS; p++)
            sums[i][p] = (VV){ k(0), k(0) };
    for (; n >= BLOCK; n -= BLOCK) {
        UNROLL
        for (int p = 0; p < PAIRS; p++) {
            pair(s, constants, l->data, p * PAIR, 0, stream, terms);
            for (int i = 0; i < s->nsums; i++)
                sums[i][p] = (VV){ sums[i][p].a + terms[i].a, sums[i][p].b + terms[i].b };
        }
        line_move(s, l, BLOCK);
    }
    for (int p = 0; n > 0; p++, n -= PAIR) {
        pair(s, constants, l->data, p * PAIR, n < PAIR ? n : 0, false, terms);
        for (int i = 0; i < s->nsums; i++)
            sums[i][p] = (VV){ sums[i][p].a + terms[i].a, sums[i][p].b + terms[i].b };
    }
    for (int i = 0; i < s->nsums; i++)
        chain[i] = sum_block(sums[i]);
}

/* The sums of a whole line: its chains in a binary tree, kept as in a binary counter: level[j]
 * holds the sum of a finished subtree, and a subtree joins its equal as soon as there is one. */
INLINE void along_line(const shape *s, const double *constants, line *l, ptrdiff_t n, bool stream,
                       T *total)
{
    T level[MAX_LEVELS][MAX_SUMS];
    int top = 0;
    for (ptrdiff_t index = 0; n > 0; index++, n -= VJPI_CHAIN * BLOCK) {
        T *chain = level[top++];
        along_chain(s, constants, l, n < VJPI_CHAIN * BLOCK ? n : VJPI_CHAIN * BLOCK, stream,
                    chain);
        for (ptrdiff_t full = index; full & 1; full >>= 1) {
            top--;
            for (int i = 0; i < s->nsums; i++)
                level[top - 1][i] = level[top - 1][i] + level[top][i];
        }
    }
    for (; top > 1; top--)
        for (int i = 0; i < s->nsums; i++)
            level[top - 2][i] = level[top - 2][i] + level[top - 1][i];
    for (int i = 0; i < s->nsums; i++)
        total[i] = level[0][i];
}

/* ---- kernels ------------------------------------------------------------------------------ */

/* May this tile's FULL outputs be streamed? A sum's elements must keep their places, so that no
 * element may be done ahead of the blocks there. */
INLINE bool can_stream(const shape *s, const vjpi_tile *tile, const line *l)
{
    if (!CAN_STREAM || !tile->stream || s->nfull == 0 || s->part != OUTS)
        return false;
    return s->nsums == 0 ? stream_lead(s, l) >= 0 : stream_lead(s, l) == 0;
}

INLINE void map_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(s, tile, row, &l, &c);
        if (can_stream(s, tile, &l))
            map_line(s, tile->constants, &l, tile->n, true);
        else
            map_line(s, tile->constants, &l, tile->n, false);
    }
}

/* sums: of sum i, row r at [i * rows + r]. */
INLINE void along_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    T total[MAX_SUMS], *sums = tile->sums;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(s, tile, row, &l, &c);
        if (can_stream(s, tile, &l))
            along_line(s, tile->constants, &l, tile->n, true, total);
        else
            along_line(s, tile->constants, &l, tile->n, false, total);
        for (int i = 0; i < s->nsums; i++)
            sums[i * tile->rows + row] = sums[i * tile->rows + row] + total[i];
    }
}

/* One pair, its terms added to the sums of its columns: of sum i, column c at [i * n + c]. */
INLINE void across_pair(const shape *s, const vjpi_tile *tile, const line *l, T *sums,
                        ptrdiff_t at, ptrdiff_t some, bool stream)
{
    VV terms[MAX_SUMS];
    pair(s, tile->constants, l->data, at, some, stream, terms);
    for (int i = 0; i < s->nsums; i++) {
        T *to = sums + i * tile->n + at;
        VV sum = some ? load_some_T(to, some) : load_T(to);
        sum = (VV){ sum.a + terms[i].a, sum.b + terms[i].b };
        if (some)
            store_some_T(to, sum, some);
        else
            store_T(to, sum);
    }
}

INLINE void across_line(const shape *s, const vjpi_tile *tile, line *l, bool stream)
{
    T *sums = tile->sums;
    ptrdiff_t n = tile->n;
    for (; n >= BLOCK; n -= BLOCK, sums += BLOCK) {
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            across_pair(s, tile, l, sums, p * PAIR, 0, stream);
        line_move(s, l, BLOCK);
    }
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        across_pair(s, tile, l, sums, at, 0, false);
    if (at < n)
        across_pair(s, tile, l, sums, at, n - at, false);
}

INLINE void across_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(s, tile, row, &l, &c);
        if (can_stream(s, tile, &l))
            across_line(s, tile, &l, true);
        else
            across_line(s, tile, &l, false);
    }
}

INLINE void row_body(const shape *terms, const shape *outs, const vjpi_tile *tile)
{
    T sum[MAX_SUMS];
    vjpi_tile one = *tile;
    line l;
    copies c;
    one.rows = 1;
    one.data[outs->noperands - 1] = (char *)sum;
    one.repeated |= 1u << (outs->noperands - 1);
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(terms, &one, 0, &l, &c);
        along_line(terms, tile->constants, &l, tile->n, false, sum);
        map_body(outs, &one);
        UNROLL
        for (int i = 0; i < outs->noperands - 1; i++)
            one.data[i] += one.row_step[i];
    }
}

static void add(void *sums, const void *more, ptrdiff_t n)
{
    T *to = sums;
    const T *from = more;
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] = to[i] + from[i];
}

static void store_sums(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step)
{
    const T *from = sums;
    for (ptrdiff_t i = 0; i < n; i++)
        STORE_SOME(to + i * step, ((VV){ k(from[i]), k(0) }), 1);
}

static void store_sums_wide(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step)
{
    const T *from = sums;
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(to + i * step, &from[i], sizeof(T));
}

/* ---- ops.def -> kernels ------------------------------------------------------------------- */

/* How many of each an operator has, and which of its tensors are WIDE. */
#define OP(name, title, text, accuracy, inputs, attributes, outputs) \
    enum { name##_nin = 0 inputs, name##_nfull = 0 outputs };
#define IN(...) +1
#define FULL(...) +1
#include "ops.def"
#define OP(name, title, text, accuracy, inputs, attributes, outputs) \
    enum { name##_nsums = 0 outputs, name##_nchoices = 0 attributes };
#define SUM(...) +1
#define CHOICE(...) +1
#include "ops.def"
#define OP(name, title, text, accuracy, inputs, attributes, outputs) \
    enum { name##_nrowsums = 0 outputs };
#define ROWSUM(...) +1
#include "ops.def"

#define IS_SAME 0
#define IS_WIDE 1
#define OP(name, title, text, accuracy, inputs, attributes, outputs) \
    enum { name##_nwide = 0 inputs outputs };
#define IN(name, variable, dtype, shape) +IS_##dtype
#define FULL(name, dtype, shape, ...) +IS_##dtype
#define SUM(name, dtype, shape, ...) +IS_##dtype
#include "ops.def"

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
#define ROW(name, wanted, chosen, widened)                                                        \
    {                                                                                             \
        (wanted) && name##_nsums == 0 ? ENTRY(name, map, chosen, widened) : NULL,                     \
        (wanted) && name##_nsums + name##_nrowsums > 0 ? ENTRY(name, along, chosen, widened) : NULL, \
        (wanted) && name##_nsums + name##_nrowsums > 0 ? ENTRY(name, across, chosen, widened) : NULL, \
        (wanted) && name##_nrowsums > 0 ? ENTRY(name, row, chosen, widened) : NULL                    \
    }
#define ENTRY(name, kind, chosen, widened) \
    KERNEL_(name, kind, chosen, widened, VJPI_DTYPE, VJPI_ISA)
#define OP(name, ...)                                                              \
    { { ROW(name, 1, , ), ROW(name, SIZE == 2 && name##_nwide > 0, , _f32) },          \
      { ROW(name, name##_nchoices > 0, _chosen, ),                                     \
        ROW(name, SIZE == 2 && name##_nwide > 0 && name##_nchoices > 0, _chosen, _f32) } },
const vjpi_kernel_set JOIN(vjpi_kernel_set_, JOIN(VJPI_DTYPE, JOIN(_, VJPI_ISA))) = {
    sizeof(T),
    {
#include "ops.def"
    },
    add, store_sums, store_sums_wide
};
