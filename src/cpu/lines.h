/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the three loops over one row of a tile, and over its rows. Part of loops.c.
 *
 *   map      out[i] = formula(in...[i])
 *   along    the same, and sums[row] += the row's terms
 *   across   the same, and sums[column] += the column's terms
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
    T scalar[VJPI_MAX_OPERANDS]; /* row operands: copies, so that stores cannot alias them */
    ptrdiff_t row, done; /* which row; elements before the current block */
} line;

/* Buffers for repeated operands, one block each. They are separate from the line, whose pointers
 * can then stay in registers while data is stored. Only long formulas have more operands than this, and
 * of row operands these need no copies: needs_copies. */
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

/* Operands that this part neither reads nor writes are skipped. */
INLINE void begin_operand(use u, const vjpi_tile *tile, ptrdiff_t row, line *l, char *copies, int i)
{
    if (!is_read(u, i) && !is_written(u, i))
        return;
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

/* Of a long formula the operator is not a constant here: unrolling would only copy code. */
INLINE void line_begin(use u, const vjpi_tile *tile, ptrdiff_t row, line *l, char *copies)
{
    l->row = row;
    l->done = 0;
    if (u.heavy) {
        ONCE
        for (int i = 0; i < operand_count(u); i++)
            begin_operand(u, tile, row, l, copies, i);
        return;
    }
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        begin_operand(u, tile, row, l, copies, i);
}

INLINE void move_operand(use u, line *l, ptrdiff_t elements, int i)
{
    if (is_read(u, i) || is_written(u, i))
        l->data[i] += elements == BLOCK ? l->move[i] : l->move[i] / BLOCK * elements;
}

/* Advance every operand by `elements`; move[] is the distance for a whole BLOCK. */
INLINE void line_move(use u, line *l, ptrdiff_t elements)
{
    l->done += elements;
    if (u.heavy) {
        ONCE
        for (int i = 0; i < operand_count(u); i++)
            move_operand(u, l, elements, i);
        return;
    }
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        move_operand(u, l, elements, i);
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
    pair(u, tile, l->data, move, l->scalar, at,
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
        if (is_read(u, i) || is_written(u, i)) {
            o.data[i] = data[i];
            o.move[i] = tile->repeated >> i & 1 ? 0 : size_of(u, tile, i);
        }
    return o;
}

INLINE void next_row(use u, const vjpi_tile *tile, operands *o)
{
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        if (is_read(u, i) || is_written(u, i))
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
        if (role_of(u, i) == VJPI_ELEMENTS && o->move[i] > 0)
            for (ptrdiff_t byte = 0; byte < PAIR * o->move[i]; byte += CACHE_LINE)
                fetch((uintptr_t)o->data[i] +
                      (uintptr_t)(at * o->move[i] + byte + tile->ahead * tile->row_step[i]));
}

/* A long formula over n elements of a line. The terms of pair p go to sums[i * PAIRS + p % PAIRS]. */
INLINE void heavy_line(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t start,
                       ptrdiff_t n, bool non_temporal, VV *sums)
{
    VV terms[VJPI_MAX_SUMS];
    ONCE
    for (ptrdiff_t at = 0; at < n; at += PAIR) {
        ptrdiff_t some = n - at < PAIR ? n - at : 0;
        if (u.part < u.op->npasses && u.part > 0 && tile->ahead)
            fetch_ahead(u, tile, o, at);
        pair(u, tile, o->data, o->move, NULL, at, tile->axis_inner ? start + at : start, some,
             non_temporal && !some, terms);
        VV *sum = sums + at / PAIR % PAIRS;
        for (int i = 0; sums && i < term_count(u); i++)
            sum[i * PAIRS] = combined_pair(u, sum[i * PAIRS], terms[i]);
    }
}

/* A map of a short formula. */
INLINE void light_line(use u, const vjpi_tile *tile, const operands *o, ptrdiff_t start,
                       ptrdiff_t n, bool non_temporal)
{
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        pair(u, tile, o->data, o->move, NULL, at, tile->axis_inner ? start + at : start, 0,
             non_temporal, NULL);
    if (at < n)
        pair(u, tile, o->data, o->move, NULL, at, tile->axis_inner ? start + at : start, n - at,
             false, NULL);
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
                                                             char *const *data)
{
    ptrdiff_t lead = -1;
    ONCE
    for (int i = u.op->nin; i < u.op->nin + u.op->nout; i++) {
        if (!is_written(u, i) || tile->repeated >> i & 1)
            continue;
        if (storage_of(u, i) == STORED_WIDE && tile->dtypes[i] != VJP_F32 &&
            tile->dtypes[i] != OWN_DTYPE)
            return -1;
        ptrdiff_t own = (-(ptrdiff_t)(uintptr_t)data[i] & (CACHE_LINE - 1)) / size_of(u, tile, i);
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

/* next[]: the row after this one, if not NULL. Its beginning is prefetched meanwhile. */
INLINE void map_line(use u, const vjpi_tile *tile, line *l, ptrdiff_t n, bool non_temporal,
                     uintptr_t *next)
{
    ptrdiff_t lead = non_temporal ? aligning_elements(u, tile, l->data) : 0;
    if (lead > 0 && lead < n) {
        map_few(u, tile, l, lead, false);
        line_move(u, l, lead);
        n -= lead;
    }
    for (; n >= BLOCK; n -= BLOCK) {
        EVERY
        for (int i = 0; i < u.op->nin; i++)
            if (next && role_of(u, i) == VJPI_ELEMENTS) {
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
    T lanes[LANES], most;
    if (!is_max(u))
        return sum_lanes(a);
    memcpy(lanes, &a, sizeof(lanes));
    most = lanes[0];
    for (int i = 1; i < LANES; i++)
        most = lanes[i] > most ? lanes[i] : most;
    return most;
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
            if (non_temporal && is_pass(u) && SIZE == sizeof(T) && role_of(u, i) == VJPI_ELEMENTS)
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

/* The sums of a whole line: its chains are added in a binary tree that works like a binary counter:
 * level[j] holds the sum of a finished subtree, and two subtrees of equal size are added as soon as
 * both exist. */
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
    for (ptrdiff_t index = 0; n > 0; index++, n -= VJPI_CHAIN * BLOCK) {
        T *chain = level[top++];
        along_chain(u, tile, l, n < VJPI_CHAIN * BLOCK ? n : VJPI_CHAIN * BLOCK, non_temporal,
                    chain);
        for (ptrdiff_t full = index; full & 1; full >>= 1) {
            top--;
            for (int i = 0; i < nterms; i++)
                level[top - 1][i] = combined_two(u, level[top - 1][i], level[top][i]);
        }
    }
    for (; top > 1; top--)
        for (int i = 0; i < nterms; i++)
            level[top - 2][i] = combined_two(u, level[top - 2][i], level[top - 1][i]);
    for (int i = 0; i < nterms; i++)
        total[i] = level[0][i];
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* May this tile's FULL outputs bypass the caches? The elements of a sum must keep their places, so
 * none may be processed ahead of the blocks there. A short row that starts or ends within a cache
 * line should not: the line would be written in parts. */
INLINE bool can_bypass(use u, const vjpi_tile *tile, char *const *data)
{
    if (!CAN_STREAM || !tile->non_temporal || !is_last(u))
        return false;
    ptrdiff_t lead = aligning_elements(u, tile, data);
    return lead == 0 || (lead > 0 && term_count(u) == 0 && tile->n * SIZE >= SHORT);
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
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        ptrdiff_t n = row_length(u, tile, row);
        line_begin(u, tile, row, &l, copies);
        bool bypass = can_bypass(u, tile, l.data);
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

/* One pair in each of `rows` rows: its terms are added to the sums of their columns, top to bottom.
 * Column c of sum i is at [i * n + c], except that whole pairs keep their register order until
 * order_sums. */
INLINE void across_pair(use u, const vjpi_tile *tile, const line *l, int rows, T *sums,
                        ptrdiff_t at, ptrdiff_t some, bool non_temporal)
{
    VV terms[VJPI_MAX_SUMS], sum[VJPI_MAX_SUMS];
    const int nterms = term_count(u);
    for (int i = 0; i < nterms; i++)
        sum[i] = some ? load_some_T(sums + i * tile->n + at, some) : LOAD_T(sums + i * tile->n + at);
    UNROLL
    for (int row = 0; row < rows; row++) {
        line below = *l;
        below.row += row;
        EVERY
        for (int i = 0; i < operand_count(u); i++)
            if (row > 0 && (is_read(u, i) || is_written(u, i)))
                below.data[i] += row * tile->row_step[i];
        line_pair(u, tile, &below, at, some, non_temporal, terms);
        for (int i = 0; i < nterms; i++)
            sum[i] = combined_pair(u, sum[i], terms[i]);
    }
    for (int i = 0; i < nterms; i++) {
        if (some)
            store_some_T(sums + i * tile->n + at, sum[i], some);
        else
            STORE_T(sums + i * tile->n + at, sum[i]);
    }
}

/* The same for a long formula: a block of columns. */
INLINE void across_block(use u, const vjpi_tile *tile, line *l, ptrdiff_t rows, T *sums,
                         ptrdiff_t n, bool non_temporal)
{
    VV block[VJPI_MAX_SUMS][PAIRS];
    for (int i = 0; i < term_count(u); i++)
        for (ptrdiff_t at = 0; at < n; at += PAIR)
            block[i][at / PAIR] = n - at < PAIR ? load_some_T(sums + i * tile->n + at, n - at)
                                                : LOAD_T(sums + i * tile->n + at);
    line_heavy(u, tile, l, rows, n, non_temporal, block[0]);
    for (int i = 0; i < term_count(u); i++)
        for (ptrdiff_t at = 0; at < n; at += PAIR) {
            if (n - at < PAIR)
                store_some_T(sums + i * tile->n + at, block[i][at / PAIR], n - at);
            else
                STORE_T(sums + i * tile->n + at, block[i][at / PAIR]);
        }
}

INLINE void across_lines(use u, const vjpi_tile *tile, line *l, ptrdiff_t rows, bool non_temporal)
{
    T *sums = tile->sums;
    ptrdiff_t n = tile->n;
    if (u.heavy) {
        for (; n > 0; n -= BLOCK, sums += BLOCK) {
            across_block(u, tile, l, rows, sums, n < BLOCK ? n : BLOCK, non_temporal && n >= BLOCK);
            line_move(u, l, BLOCK);
        }
        return;
    }
    for (; n >= BLOCK; n -= BLOCK, sums += BLOCK) {
        for (ptrdiff_t row = rows; non_temporal && is_pass(u) && row < 2 * rows; row++)
            for (int i = 0; i < u.op->nin; i++)
                if (role_of(u, i) == VJPI_ELEMENTS)
                    fetch_block((uintptr_t)l->data[i] + (uintptr_t)(row * tile->row_step[i]),
                                size_of(u, tile, i));
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            across_pair(u, tile, l, (int)rows, sums, p * PAIR, 0, non_temporal);
        line_move(u, l, BLOCK);
    }
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        across_pair(u, tile, l, (int)rows, sums, at, 0, false);
    if (at < n)
        across_pair(u, tile, l, (int)rows, sums, at, n - at, false);
}

/* Several rows at once: the sums are loaded and stored less often, and more cache lines are in
 * flight. It pays where rows are not adjacent, unless they are whole pages apart: those would
 * compete for the same few cache sets. */
INLINE bool takes_several_rows(use u, const vjpi_tile *tile)
{
    bool can = is_pass(u) && tile->repeated == 0;
    for (int i = 0; can && i < u.op->nin; i++)
        if (role_of(u, i) == VJPI_ELEMENTS)
            can = tile->row_step[i] % VJPI_PAGE != 0 &&
                  (tile->row_step[i] != tile->n * size_of(u, tile, i) || tile->row_step[i] < NARROW);
    return can;
}

/* A long formula takes a block of columns through all rows of the tile, unless it stores outputs or
 * has an operand that is repeated along a row and differs from row to row. */
INLINE bool takes_all_rows(use u, const vjpi_tile *tile)
{
    if (!is_pass(u))
        return false;
    ONCE
    for (int i = 0; i < operand_count(u); i++)
        if (is_read(u, i) && tile->repeated >> i & 1 && tile->row_step[i] != 0)
            return false;
    return true;
}

INLINE void across_body(use u, const vjpi_tile *tile)
{
    _Alignas(64) char copies[COPIES * COPY_SIZE];
    line l;
    ptrdiff_t row = 0;
    if (u.heavy && takes_all_rows(u, tile)) {
        line_begin(u, tile, 0, &l, copies);
        across_lines(u, tile, &l, tile->rows, false);
        return;
    }
    if (!u.heavy && takes_several_rows(u, tile))
        for (; row + ROWS <= tile->rows; row += ROWS) {
            line_begin(u, tile, row, &l, copies);
            if (tile->non_temporal)
                across_lines(u, tile, &l, ROWS, true);
            else
                across_lines(u, tile, &l, ROWS, false);
        }
    for (; row < tile->rows; row++) {
        line_begin(u, tile, row, &l, copies);
        bool bypass = can_bypass(u, tile, l.data);
        if (u.heavy)
            across_lines(u, tile, &l, 1, bypass);
        else if (bypass)
            across_lines(u, tile, &l, 1, true);
        else
            across_lines(u, tile, &l, 1, false);
    }
}

/* ---- whole rows --------------------------------------------------------------------------- */

/* Start a line whose row values are already known, without going through memory. */
INLINE void row_begin(use u, const vjpi_tile *tile, ptrdiff_t row, const T *values, line *l,
                      char *copies)
{
    line_begin(u, tile, row, l, copies);
    EVERY
    for (int v = 0; v < u.op->nvalues; v++)
        l->scalar[u.op->nin + u.op->nout + v] = values[v];
}

/* The values that pass `part` leaves for a row. */
INLINE void row_pass(const signature *op, formula *formula, int part, const vjpi_tile *tile,
                     ptrdiff_t row, bool fetches, T *values, char *copies)
{
    const use u = { op, formula, part, true, false, false };
    T *made = values;
    line l;
    if (!(tile->passes >> part & 1))
        return;
    for (int p = 0; p < part; p++)
        made += VJPI_REDUCTIONS(op->passes[p]);
    ptrdiff_t n = row_length(u, tile, row);
    row_begin(u, tile, row, values, &l, copies);
    if (fetches)
        along_line(u, tile, &l, n, true, made);
    else
        along_line(u, tile, &l, n, false, made);
}

/* Leave the values for PER_ROW outputs. */
INLINE void store_values(const signature *op, const vjpi_tile *tile, ptrdiff_t row, const T *values)
{
    EVERY
    for (int v = 0; v < op->nvalues; v++) {
        int i = op->nin + op->nout + v;
        memcpy(tile->data[i] + row * tile->row_step[i], &values[v], sizeof(T));
    }
}

/* Prefetch only for rows that are longer than the amount prefetched at once. */
INLINE void row_tile(const signature *op, formula *formula, const vjpi_tile *tile)
{
    _Alignas(64) char copies[COPIES * COPY_SIZE];
    const use last = { op, formula, op->npasses - 1, true, false, false };
    uintptr_t next[VJPI_MAX_OPERANDS];
    bool fetches = tile->non_temporal && tile->n * SIZE > 2 * FETCH_AHEAD;
    line l;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        T values[VJPI_MAX_VALUES] = { 0 };
        EVERY
        for (int part = 0; part < VJPI_MAX_PASSES - 1; part++)
            if (part < op->npasses - 1)
                row_pass(op, formula, part, tile, row, fetches, values, copies);
        store_values(op, tile, row, values);
        ptrdiff_t n = row_length(last, tile, row);
        row_begin(last, tile, row, values, &l, copies);
        for (int i = 0; fetches && i < op->nin; i++)
            next[i] = (uintptr_t)tile->data[i] + (uintptr_t)((row + 1) * tile->row_step[i]);
        if (!can_bypass(last, tile, l.data))
            map_line(last, tile, &l, n, false, NULL);
        else if (fetches)
            map_line(last, tile, &l, n, true, next);
        else
            map_line(last, tile, &l, n, true, NULL);
        clear_behind(last, tile, row, n);
    }
}

/* ---- what a kernel calls ------------------------------------------------------------------ */

/* A long formula is in its block alone: all operators with one share the rest. */
static __attribute__((noinline)) void along_heavy(const signature *op, int part, bool scalars,
                                                  const vjpi_tile *tile)
{
    along_body((use){ op, NULL, part, scalars, true, true }, tile);
}

static __attribute__((noinline)) void across_heavy(const signature *op, int part,
                                                   const vjpi_tile *tile)
{
    across_body((use){ op, NULL, part, false, true, true }, tile);
}

/* A block_function, for one operator and part: of a long formula, and of a short one. */
INLINE void heavy_rows(const signature *op, formula *formula, int part, const vjpi_tile *tile,
                       char *const *data, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n,
                       bool non_temporal, VV *sums)
{
    const use u = { op, formula, part, false, true, true };
    operands o = block_operands(u, tile, data);
    for (; rows > 0; rows--, start += tile->axis_row) {
        heavy_line(u, tile, &o, start, n, non_temporal, sums);
        if (rows > 1)
            next_row(u, tile, &o);
    }
}

INLINE void light_rows(const signature *op, formula *formula, int part, const vjpi_tile *tile,
                       char *const *data, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n,
                       bool non_temporal)
{
    const use u = { op, formula, part, false, false, false };
    operands o = block_operands(u, tile, data);
    for (; rows > 0; rows--, start += tile->axis_row) {
        if (non_temporal)
            light_line(u, tile, &o, start, n, true);
        else
            light_line(u, tile, &o, start, n, false);
        if (rows > 1)
            next_row(u, tile, &o);
    }
}
