/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the loops over one row of a tile, and over its rows. Part of loops.c.
 *
 *   map      out[i] = formula(in...[i])
 *   along    the same, and sums[row] += the row's terms
 *   across   the same, and sums[column] += the column's terms: across.h
 *
 * An element's place in a sum depends only on its index in the tile: there are BLOCK partial sums,
 * whatever the vector width. Nothing outside [0, n) is read or written. */

#define CACHE_LINE 64
#define FETCH_AHEAD 2048 /* bytes along a line */
#define ROWS 4           /* summed at once */
#define NARROW 1024      /* bytes: shorter adjacent rows are also summed several at once */
#define SHORT 3072       /* bytes: unaligned rows shorter than this use ordinary stores */

/* A line: the operands of one row, and how far each moves in a block (0 if repeated). */
typedef struct line {
    char *data[VJPI_MAX_OPERANDS];
    ptrdiff_t move[VJPI_MAX_OPERANDS];
    T scalar[VJPI_MAX_OPERANDS]; /* row operands and constants: copies, which stores cannot alias */
    T constants[VJPI_MAX_CONSTANTS];
    ptrdiff_t row, done; /* which row; elements before the current block */
    int count;           /* of a long formula: the operands that the part reads or writes */
    uint8_t operand[VJPI_MAX_OPERANDS]; /* which they are */
} line;

/* Buffers for repeated operands, one block each. They are separate from the line, whose pointers
 * can then stay in registers while data is stored. Only long formulas have more operands than this,
 * and of row operands these need no copies: needs_copies. */
enum { COPY_SIZE = BLOCK * sizeof(T), COPIES = VJPI_MAX_TENSORS + 2 };

/* Replicate one element BLOCK times, eight bytes at a time, so that a repeated operand is loaded
 * like any other. */
INLINE void repeat(char *to, const char *from, ptrdiff_t size)
{
    uint64_t eight = 0;
    memcpy(&eight, from, (size_t)size);
    for (ptrdiff_t bits = 8 * size; bits < 64; bits *= 2)
        eight |= eight << bits;
    UNROLL
    for (ptrdiff_t i = 0; i < BLOCK * size / 8; i++)
        memcpy(to + 8 * i, &eight, 8);
}

/* Does this part use operand i? */
INLINE bool is_used(use u, int i)
{
    return (is_read(u, i) || is_written(u, i)) && !is_absent(u, i);
}

/* What is the same for all rows: the constants or, of a long formula, the operands, since there the
 * operator is not a constant. */
INLINE void line_prepare(use u, const vjpi_tile *tile, line *l)
{
    l->count = 0;
    if (!u.heavy) {
        EVERY /* one by one: the compiler keeps what is not copied as a whole in registers */
        for (int i = 0; i < VJPI_MAX_CONSTANTS; i++)
            l->constants[i] = ((const T *)tile->constants)[i];
        return;
    }
    ONCE
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i))
            l->operand[l->count++] = (uint8_t)i;
}

INLINE void begin_operand(use u, const vjpi_tile *tile, ptrdiff_t row, line *l, char *copies, int i)
{
    ptrdiff_t size = size_of(u, tile, i);
    l->data[i] = tile->data[i] + row * tile->row_step[i];
    l->move[i] = BLOCK * size;
    if (u.scalars && is_row_operand(u, i) && !u.heavy) {
        memcpy(&l->scalar[i], l->data[i], sizeof(T));
        l->move[i] = 0;
    } else if ((u.scalars && is_row_operand(u, i)) || tile->repeated >> i & 1) {
        l->move[i] = 0;
        if (!needs_copies(u, i))
            return;
        if (is_read(u, i)) /* an unwanted output is stored there and discarded */
            repeat(copies + i * COPY_SIZE, l->data[i], size);
        l->data[i] = copies + i * COPY_SIZE;
    }
}

/* Operands that this part neither reads nor writes are skipped. */
INLINE void line_begin(use u, const vjpi_tile *tile, ptrdiff_t row, line *l, char *copies)
{
    l->row = row;
    l->done = 0;
    if (u.heavy) {
        ONCE
        for (int j = 0; j < l->count; j++)
            begin_operand(u, tile, row, l, copies, l->operand[j]);
        return;
    }
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i))
            begin_operand(u, tile, row, l, copies, i);
}

INLINE void move_operand(line *l, ptrdiff_t elements, int i)
{
    l->data[i] += elements == BLOCK ? l->move[i] : l->move[i] / BLOCK * elements;
}

/* Advance every operand by `elements`; move[] is the distance for a whole BLOCK. */
INLINE void line_move(use u, line *l, ptrdiff_t elements)
{
    l->done += elements;
    if (u.heavy) {
        ONCE
        for (int j = 0; j < l->count; j++)
            move_operand(l, elements, l->operand[j]);
        return;
    }
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i))
            move_operand(l, elements, i);
}

/* Does the tile have rows along n that end early? */
INLINE bool ends_early(use u, const vjpi_tile *tile)
{
    return u.op->ends && !u.op->plain && tile->end >= 0 && tile->axis_inner;
}

/* How many of the tile's n elements belong to a row. */
INLINE ptrdiff_t row_length(use u, const vjpi_tile *tile, ptrdiff_t row)
{
    T end;
    if (!ends_early(u, tile))
        return tile->n;
    memcpy(&end, tile->data[tile->end] + row * tile->row_step[tile->end], sizeof(end));
    ptrdiff_t left = (ptrdiff_t)end - (ptrdiff_t)tile->index;
    return left < 0 ? 0 : left < tile->n ? left : tile->n;
}

/* One pair of the line, `at` elements after its current position. */
INLINE void line_pair(use u, const vjpi_tile *tile, const line *l, ptrdiff_t at, ptrdiff_t some,
                      bool non_temporal, VV *terms)
{
    ptrdiff_t move[VJPI_MAX_OPERANDS]; /* a repeated operand has a whole block of copies */
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        move[i] = size_of(u, tile, i);
    pair(u, tile, l->data, move, l->scalar, l->constants, at,
         tile->axis_inner ? l->done + at : l->row * tile->axis_row, some, non_temporal, terms);
}

/* Where a block finds its operands, in variables that stores cannot alias. A repeated operand is a
 * pair of copies. */
typedef struct operands {
    char *data[VJPI_MAX_OPERANDS];
    ptrdiff_t move[VJPI_MAX_OPERANDS]; /* bytes per element */
} operands;

INLINE operands block_operands(use u, const vjpi_tile *tile, char *const *data)
{
    operands o;
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i)) {
            o.data[i] = data[i];
            o.move[i] = tile->repeated >> i & 1 ? 0 : size_of(u, tile, i);
        }
    return o;
}

INLINE void next_row(use u, const vjpi_tile *tile, operands *o)
{
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i))
            o->data[i] += tile->row_step[i];
}

/* Prefetch memory where the hardware does not: its prefetcher starts over on each 4 KiB page, and
 * cannot know which row comes next. This is only a hint: the address may be past the end of the
 * tensor, and is an integer for that reason. */
INLINE void fetch(uintptr_t address) { __builtin_prefetch((const void *)address, 0, 2); }

/* Prefetch a pair of the rows that come next, while the arithmetic of these keeps the core busy. */
INLINE void fetch_ahead(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t at)
{
    EVERY
    for (int i = 0; i < u.op->nin; i++)
        if (role_of(u, i) == VJPI_ELEMENTS && !is_absent(u, i) && o->move[i] > 0)
            for (ptrdiff_t byte = 0; byte < PAIR * o->move[i]; byte += CACHE_LINE)
                fetch((uintptr_t)o->data[i] +
                      (uintptr_t)(at * o->move[i] + byte + tile->ahead * tile->row_step[i]));
}

/* One pair of a block. The terms of pair p go to sums[i * PAIRS + p % PAIRS]. */
INLINE void block_pair(use u, const vjpi_tile *tile, const operands *o, const T *numbers,
                       ptrdiff_t at, ptrdiff_t start, ptrdiff_t some, bool non_temporal, VV *sums)
{
    VV terms[VJPI_MAX_SUMS], *sum = sums + at / PAIR % PAIRS;
    if (u.part < u.op->npasses && u.part > 0 && tile->ahead)
        fetch_ahead(u, tile, o, at);
    pair(u, tile, o->data, o->move, numbers, tile->constants, at,
         tile->axis_inner ? start + at : start, some, non_temporal && !some, terms);
    for (int i = 0; sums && i < term_count(u); i++)
        sum[i * PAIRS] = combined_pair(u, sum[i * PAIRS], terms[i]);
}

/* Are all row operands of this line numbers, and all others either dense or copied? */
INLINE bool has_numbers(use u, const operands *o)
{
    bool has = true;
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_read(u, i) && !is_absent(u, i) && role_of(u, i) != VJPI_ROW_END) {
            has = has && (!is_row_operand(u, i) || o->move[i] == 0);
            has = has && (storage_of(u, i) != STORED_MASK || o->move[i] != 0);
        }
    return has;
}

/* The whole pairs of a line whose row operands are numbers: those are loaded once, and the others are
 * not told apart. Returns the number of elements. */
INLINE ptrdiff_t line_with_numbers(use u, const vjpi_tile *tile, const operands *o,
                                   ptrdiff_t start, ptrdiff_t n, bool non_temporal, VV *sums)
{
    const use with_numbers = { u.op, u.formula, u.part, true, u.sums, false };
    T numbers[VJPI_MAX_OPERANDS];
    ptrdiff_t at = 0;
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_read(u, i) && is_row_operand(u, i) && !is_absent(u, i))
            memcpy(&numbers[i], o->data[i], sizeof(T));
    ONCE
    for (; at + PAIR <= n; at += PAIR)
        block_pair(with_numbers, tile, o, numbers, at, start, 0, non_temporal, sums);
    return at;
}

/* A formula that is not inlined over n elements of a line. */
INLINE void heavy_line(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t start,
                       ptrdiff_t n, bool non_temporal, VV *sums)
{
    ptrdiff_t at = 0;
    /* without vectors it does not pay to ask */
    if (LANES > 1 && u.op->npasses > 1 && u.part < u.op->npasses && has_numbers(u, o))
        at = line_with_numbers(u, tile, o, start, n, non_temporal, sums);
    ONCE
    for (; at < n; at += PAIR)
        block_pair(u, tile, o, NULL, at, start, n - at < PAIR ? n - at : 0, non_temporal, sums);
}

/* A map of a short formula: the whole pairs of a line. Returns the number of their elements. */
INLINE ptrdiff_t light_pairs(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t start,
                             ptrdiff_t n, bool non_temporal)
{
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        pair(u, tile, o->data, o->move, NULL, tile->constants, at,
             tile->axis_inner ? start + at : start, 0, non_temporal, NULL);
    return at;
}

INLINE void light_line(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t start,
                       ptrdiff_t n)
{
    ptrdiff_t at = light_pairs(u, tile, o, start, n, false);
    if (at < n)
        pair(u, tile, o->data, o->move, NULL, tile->constants, at,
             tile->axis_inner ? start + at : start, n - at, false, NULL);
}

INLINE void line_heavy(use u, const vjpi_tile *tile, const line *l, ptrdiff_t rows, ptrdiff_t n,
                       bool non_temporal, VV *sums)
{
    u.op->blocks[block_number(u.part)](
        tile, l->data, tile->axis_inner ? l->done : l->row * tile->axis_row, rows, n, non_temporal,
        sums);
}

/* Elements to process before the first FULL output is aligned to a cache line, so that only whole
 * lines bypass the caches: a partial line costs a read and a write of memory. -1 if the FULL
 * outputs cannot all be aligned. One function for all operators: it is called once per row. */
static __attribute__((noinline)) ptrdiff_t aligning_elements(use u, const vjpi_tile *tile,
                                                             ptrdiff_t row)
{
    ptrdiff_t lead = -1;
    ONCE
    for (int i = u.op->nin; i < u.op->nin + u.op->nout; i++) {
        if (!is_written(u, i) || tile->repeated >> i & 1)
            continue;
        if (storage_of(u, i) == STORED_WIDE && tile->dtypes[i] != VJP_F32 &&
            tile->dtypes[i] != OWN_DTYPE)
            return -1;
        uintptr_t address = (uintptr_t)tile->data[i] + (uintptr_t)(row * tile->row_step[i]);
        ptrdiff_t own = (ptrdiff_t)(-address & (CACHE_LINE - 1)) / size_of(u, tile, i);
        if (lead >= 0 && own != lead)
            return -1;
        lead = own;
    }
    return lead;
}

INLINE void fetch_block(uintptr_t address, ptrdiff_t element_size)
{
    for (ptrdiff_t byte = 0; byte < BLOCK * element_size; byte += CACHE_LINE)
        fetch(address + (uintptr_t)byte);
}

/* Less than a block. */
INLINE void map_few(use u, const vjpi_tile *tile, line *l, ptrdiff_t n, bool non_temporal)
{
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        line_pair(u, tile, l, at, 0, non_temporal, NULL);
    if (at < n)
        line_pair(u, tile, l, at, n - at, false, NULL);
}

/* lead: bypass_from, if stores may bypass the caches. next[]: the row after this one, if not NULL. Its
 * beginning is prefetched meanwhile. */
INLINE void map_line(use u, const vjpi_tile *tile, line *l, ptrdiff_t n, bool non_temporal,
                     ptrdiff_t lead, uintptr_t *next)
{
    if (non_temporal && lead > 0 && lead < n) {
        map_few(u, tile, l, lead, false);
        line_move(u, l, lead);
        n -= lead;
    }
    for (; n >= BLOCK; n -= BLOCK) {
        EVERY
        for (int i = 0; i < u.op->nin; i++)
            if (next && role_of(u, i) == VJPI_ELEMENTS && !is_absent(u, i)) {
                fetch(next[i]);
                next[i] += CACHE_LINE;
            }
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            line_pair(u, tile, l, p * PAIR, 0, non_temporal, NULL);
        line_move(u, l, BLOCK);
    }
    map_few(u, tile, l, n, non_temporal && PAIR * SIZE >= CACHE_LINE);
}

INLINE T combined_lanes(use u, V a)
{
    T lanes[LANES];
    if (!is_max(u))
        return sum_lanes(a);
    memcpy(lanes, &a, sizeof(lanes));
    EVERY
    for (int width = LANES / 2; width > 0; width /= 2)
        EVERY
        for (int i = 0; i < width; i++)
            lanes[i] = lanes[i + width] > lanes[i] ? lanes[i + width] : lanes[i];
    return lanes[0];
}

INLINE T combined_two(use u, T a, T b) { return is_max(u) ? (b > a ? b : a) : a + b; }

/* Reduce BLOCK partial sums to one: element i with i + BLOCK / 2, and so on to i with i + 1. */
INLINE T combined_block(use u, VV *sums)
{
    for (int width = PAIRS / 2; width > 0; width /= 2)
        for (int p = 0; p < width; p++)
            sums[p] = combined_pair(u, sums[p], sums[p + width]);
    return BY_PARITY ? combined_two(u, combined_lanes(u, sums[0].a), combined_lanes(u, sums[0].b))
                     : combined_lanes(u, combined(u, sums[0].a, sums[0].b));
}

/* Up to VJPI_CHAIN blocks of a line; their sum goes to chain[]. Advances the line. Prefetches a
 * line that is only read; if it is also written, or converted, prefetching does not pay. */
INLINE void along_chain(use u, const vjpi_tile *tile, line *l, ptrdiff_t n, bool non_temporal,
                        T *chain)
{
    VV sums[VJPI_MAX_SUMS][PAIRS], terms[VJPI_MAX_SUMS];
    const int nterms = term_count(u);
    for (int i = 0; i < nterms; i++)
        for (int p = 0; p < PAIRS; p++)
            sums[i][p] = (VV){ identity(u), identity(u) };
    if (u.heavy) {
        line_heavy(u, tile, l, 1, n, non_temporal, sums[0]);
        line_move(u, l, n);
        n = 0;
    }
    for (; n >= BLOCK; n -= BLOCK) {
        EVERY
        for (int i = 0; i < u.op->nin; i++)
            if (non_temporal && is_pass(u) && SIZE == sizeof(T) &&
                role_of(u, i) == VJPI_ELEMENTS && !is_absent(u, i))
                fetch_block((uintptr_t)l->data[i] + FETCH_AHEAD, SIZE);
        UNROLL
        for (int p = 0; p < PAIRS; p++) {
            line_pair(u, tile, l, p * PAIR, 0, non_temporal, terms);
            for (int i = 0; i < nterms; i++)
                sums[i][p] = combined_pair(u, sums[i][p], terms[i]);
        }
        line_move(u, l, BLOCK);
    }
    UNROLL
    for (int p = 0; p < PAIRS; p++) { /* unrolled: the sums can stay in registers */
        ptrdiff_t left = n - p * PAIR;
        if (left <= 0)
            break;
        line_pair(u, tile, l, p * PAIR, left < PAIR ? left : 0, false, terms);
        for (int i = 0; i < nterms; i++)
            sums[i][p] = combined_pair(u, sums[i][p], terms[i]);
    }
    for (int i = 0; i < nterms; i++)
        chain[i] = combined_block(u, sums[i]);
}

INLINE void add_level(use u, const T *level, T *total)
{
    for (int i = 0; i < term_count(u); i++)
        total[i] = combined_two(u, level[i], total[i]);
}

/* The sums of a whole line: its chains are added in a binary tree that works like a binary counter:
 * level[j] holds the sum of a finished subtree, and two subtrees of equal size are added as soon as
 * both exist. The sum of a single chain stays in registers. */
INLINE void along_line(use u, const vjpi_tile *tile, line *l, ptrdiff_t n, bool non_temporal,
                       T *total)
{
    T level[MAX_LEVELS][VJPI_MAX_SUMS];
    const int nterms = term_count(u);
    int top = 0;
    if (n == 0) {
        for (int i = 0; i < nterms; i++)
            total[i] = is_max(u) ? (T)-INFINITY : 0;
        return;
    }
    for (ptrdiff_t index = 0;; index++, top++) {
        along_chain(u, tile, l, n < VJPI_CHAIN * BLOCK ? n : VJPI_CHAIN * BLOCK, non_temporal,
                    total);
        n -= VJPI_CHAIN * BLOCK;
        for (ptrdiff_t full = index; full & 1; full >>= 1)
            add_level(u, level[--top], total);
        if (n <= 0)
            break;
        for (int i = 0; i < nterms; i++)
            level[top][i] = total[i];
    }
    while (top > 0)
        add_level(u, level[--top], total);
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* From which element on may the FULL outputs of a row bypass the caches? -1: they may not. The
 * elements of a sum must keep their places, so none may be processed ahead of the blocks there. A
 * short row that starts or ends within a cache line should not: the line would be written in parts. */
INLINE ptrdiff_t bypass_from(use u, const vjpi_tile *tile, ptrdiff_t row)
{
    if (!CAN_STREAM || !tile->non_temporal || !is_last(u))
        return -1;
    ptrdiff_t lead = aligning_elements(u, tile, row);
    return lead <= 0 || (term_count(u) == 0 && tile->n * SIZE >= SHORT) ? lead : -1;
}

/* Store +0 in the FULL outputs of a row from element n on. */
INLINE void clear_behind(use u, const vjpi_tile *tile, ptrdiff_t row, ptrdiff_t n)
{
    if (!u.op->ends || u.op->plain || n == tile->n)
        return;
    ONCE
    for (int i = u.op->nin; i < u.op->nin + u.op->nout; i++)
        if (is_written(u, i) && !(tile->repeated >> i & 1)) {
            ptrdiff_t size = size_of(u, tile, i);
            memset(tile->data[i] + row * tile->row_step[i] + n * size, 0,
                   (size_t)((tile->n - n) * size));
        }
}

/* sums: of sum i, row r at [i * rows + r]. */
INLINE void along_body(use u, const vjpi_tile *tile)
{
    _Alignas(64) char copies[COPIES * COPY_SIZE];
    line l;
    T total[VJPI_MAX_SUMS], *sums = tile->sums;
    line_prepare(u, tile, &l);
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        ptrdiff_t n = row_length(u, tile, row);
        line_begin(u, tile, row, &l, copies);
        bool bypass = bypass_from(u, tile, row) == 0;
        if (u.heavy)
            along_line(u, tile, &l, n, bypass, total);
        else if (bypass)
            along_line(u, tile, &l, n, true, total);
        else
            along_line(u, tile, &l, n, false, total);
        for (int i = 0; i < term_count(u); i++)
            sums[i * tile->rows + row] = combined_two(u, sums[i * tile->rows + row], total[i]);
    }
}
