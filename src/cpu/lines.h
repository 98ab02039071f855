/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the three loops over one row of a tile, and over its rows. Part of loops.c.
 *
 *   map      out[i] = formula(in...[i])
 *   along    the same, and sums[row] += the row's terms
 *   across   the same, and sums[column] += the column's terms
 *
 * An element's place in a sum depends on its index in the tile alone: BLOCK partial sums, whatever
 * the width of a vector. Nothing outside [0, n) is read or written. */

#define CACHE_LINE 64
#define FETCH_AHEAD 2048 /* bytes along a line */
#define ROWS 4           /* summed at once */
#define NARROW 1024      /* bytes of a row that leaves memory for several of them near by */
#define SHORT 3072       /* bytes of a row that is too short to stream its middle only */

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

/* Lay out one element BLOCK times, so that a repeated operand is loaded like any other: eight bytes
 * at a time. */
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

INLINE void line_begin(const shape *s, const vjpi_tile *tile, ptrdiff_t row, line *l, copies *c)
{
    UNROLL
    for (int i = 0; i < s->noperands; i++) {
        l->data[i] = tile->data[i] + row * tile->row_step[i];
        l->move[i] = BLOCK * size_of(s, i);
        if (s->one_sum && i == s->noperands - 1) {
            l->move[i] = 0;
        } else if (tile->repeated >> i & 1) {
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

/* Elements to do before the first FULL output is aligned to a cache line, so that what is streamed
 * are whole lines: half a line costs memory a read and a write. -1 if the FULL outputs cannot all
 * be. */
INLINE ptrdiff_t stream_lead(const shape *s, const line *l)
{
    ptrdiff_t lead = 0;
    UNROLL
    for (int i = s->nin; i < s->nin + s->nfull; i++) {
        ptrdiff_t own = (-(ptrdiff_t)(uintptr_t)l->data[i] & (CACHE_LINE - 1)) / size_of(s, i);
        if (i > s->nin && own != lead)
            return -1;
        lead = own;
    }
    return lead;
}

/* Memory that is read soon is asked for where the hardware would not: it begins anew on each page of
 * 4 KiB, and cannot know that a row is followed by the next one. A hint: the address may lie behind
 * the tensor's end, and is a number for that reason. */
INLINE void fetch(uintptr_t address) { __builtin_prefetch((const void *)address, 0, 2); }

INLINE void fetch_block(uintptr_t address, ptrdiff_t element_size)
{
    for (ptrdiff_t byte = 0; byte < BLOCK * element_size; byte += CACHE_LINE)
        fetch(address + (uintptr_t)byte);
}

/* Less than a block. */
INLINE void map_few(const shape *s, const float *constants, line *l, ptrdiff_t n, bool stream)
{
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        pair(s, constants, l->data, at, 0, stream, NULL);
    if (at < n)
        pair(s, constants, l->data, at, n - at, false, NULL);
}

/* next[]: the row behind this one, if not NULL. Its beginning is fetched on the way. */
INLINE void map_line(const shape *s, const float *constants, line *l, ptrdiff_t n, bool stream,
                     uintptr_t *next)
{
    ptrdiff_t lead = stream ? stream_lead(s, l) : 0;
    if (lead > 0 && lead < n) {
        map_few(s, constants, l, lead, false);
        line_move(s, l, lead);
        n -= lead;
    }
    for (; n >= BLOCK; n -= BLOCK) {
        for (int i = 0; next && i < s->nin; i++) {
            fetch(next[i]);
            next[i] += CACHE_LINE;
        }
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            pair(s, constants, l->data, p * PAIR, 0, stream, NULL);
        line_move(s, l, BLOCK);
    }
    map_few(s, constants, l, n, stream && PAIR * SIZE >= CACHE_LINE);
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

/* Up to VJPI_CHAIN blocks of a line; their sum goes to chain[]. Moves the line on. A line that is
 * only read is fetched ahead; where it is written as well, or converted, it does not pay. */
INLINE void along_chain(const shape *s, const float *constants, line *l, ptrdiff_t n, bool stream,
                        T *chain)
{
    VV sums[VJPI_MAX_SUMS][PAIRS], terms[VJPI_MAX_SUMS];
    for (int i = 0; i < s->nsums; i++)
        for (int p = 0; p < PAIRS; p++)
            sums[i][p] = (VV){ k(0), k(0) };
    for (; n >= BLOCK; n -= BLOCK) {
        for (int i = 0; stream && s->part == TERMS && SIZE == sizeof(T) && i < s->nin; i++)
            fetch_block((uintptr_t)l->data[i] + FETCH_AHEAD, SIZE);
        UNROLL
        for (int p = 0; p < PAIRS; p++) {
            pair(s, constants, l->data, p * PAIR, 0, stream, terms);
            for (int i = 0; i < s->nsums; i++)
                sums[i][p] = (VV){ sums[i][p].a + terms[i].a, sums[i][p].b + terms[i].b };
        }
        line_move(s, l, BLOCK);
    }
    UNROLL
    for (int p = 0; p < PAIRS; p++) { /* unrolled: the sums can stay in registers */
        ptrdiff_t left = n - p * PAIR;
        if (left <= 0)
            break;
        pair(s, constants, l->data, p * PAIR, left < PAIR ? left : 0, false, terms);
        for (int i = 0; i < s->nsums; i++)
            sums[i][p] = (VV){ sums[i][p].a + terms[i].a, sums[i][p].b + terms[i].b };
    }
    for (int i = 0; i < s->nsums; i++)
        chain[i] = sum_block(sums[i]);
}

/* The sums of a whole line: its chains in a binary tree, kept as in a binary counter: level[j]
 * holds the sum of a finished subtree, and a subtree joins its equal as soon as there is one. */
INLINE void along_line(const shape *s, const float *constants, line *l, ptrdiff_t n, bool stream,
                       T *total)
{
    T level[MAX_LEVELS][VJPI_MAX_SUMS];
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

/* ---- tiles -------------------------------------------------------------------------------- */

/* May this tile's FULL outputs be streamed? A sum's elements must keep their places, so that no
 * element may be done ahead of the blocks there. A short row that begins or ends within a cache line
 * had better not: the line is written in parts. */
INLINE bool can_stream(const shape *s, const vjpi_tile *tile, const line *l)
{
    if (!CAN_STREAM || !tile->stream || s->part == TERMS)
        return false;
    ptrdiff_t lead = stream_lead(s, l);
    return lead == 0 || (lead > 0 && s->nsums == 0 && tile->n * SIZE >= SHORT);
}

INLINE void map_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(s, tile, row, &l, &c);
        if (can_stream(s, tile, &l))
            map_line(s, tile->constants, &l, tile->n, true, NULL);
        else
            map_line(s, tile->constants, &l, tile->n, false, NULL);
    }
}

/* sums: of sum i, row r at [i * rows + r]. */
INLINE void along_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    T total[VJPI_MAX_SUMS], *sums = tile->sums;
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

/* One pair in each of `rows` rows, the terms added to the sums of their columns, top to bottom: of
 * sum i, column c at [i * n + c], except that whole pairs stay as they are in registers until
 * order_sums. */
INLINE void across_pair(const shape *s, const vjpi_tile *tile, const line *l, int rows, T *sums,
                        ptrdiff_t at, ptrdiff_t some, bool stream)
{
    VV terms[VJPI_MAX_SUMS], sum[VJPI_MAX_SUMS];
    for (int i = 0; i < s->nsums; i++)
        sum[i] = some ? load_some_T(sums + i * tile->n + at, some) : LOAD_T(sums + i * tile->n + at);
    UNROLL
    for (int row = 0; row < rows; row++) {
        char *data[VJPI_MAX_OPERANDS];
        for (int i = 0; i < s->noperands; i++)
            data[i] = l->data[i] + row * tile->row_step[i];
        pair(s, tile->constants, data, at, some, stream, terms);
        for (int i = 0; i < s->nsums; i++)
            sum[i] = (VV){ sum[i].a + terms[i].a, sum[i].b + terms[i].b };
    }
    for (int i = 0; i < s->nsums; i++) {
        if (some)
            store_some_T(sums + i * tile->n + at, sum[i], some);
        else
            STORE_T(sums + i * tile->n + at, sum[i]);
    }
}

INLINE void across_lines(const shape *s, const vjpi_tile *tile, line *l, int rows, bool stream)
{
    T *sums = tile->sums;
    ptrdiff_t n = tile->n;
    for (; n >= BLOCK; n -= BLOCK, sums += BLOCK) {
        for (int row = rows; stream && s->part == TERMS && row < 2 * rows; row++)
            for (int i = 0; i < s->nin; i++)
                fetch_block((uintptr_t)l->data[i] + (uintptr_t)(row * tile->row_step[i]),
                            size_of(s, i));
        UNROLL
        for (int p = 0; p < PAIRS; p++)
            across_pair(s, tile, l, rows, sums, p * PAIR, 0, stream);
        line_move(s, l, BLOCK);
    }
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR)
        across_pair(s, tile, l, rows, sums, at, 0, false);
    if (at < n)
        across_pair(s, tile, l, rows, sums, at, n - at, false);
}

/* Several rows at once: the sums are loaded and stored less often, and more rows of memory are under
 * way. It pays where rows lie apart, but not by whole pages: those would meet in the same few lines
 * of the caches. */
INLINE bool sums_rows(const shape *s, const vjpi_tile *tile)
{
    bool can = s->part == TERMS && tile->repeated == 0;
    for (int i = 0; can && i < s->nin; i++)
        can = tile->row_step[i] % VJPI_PAGE != 0 &&
              (tile->row_step[i] != tile->n * size_of(s, i) || tile->row_step[i] < NARROW);
    return can;
}

INLINE void across_body(const shape *s, const vjpi_tile *tile)
{
    line l;
    copies c;
    ptrdiff_t row = 0;
    for (; sums_rows(s, tile) && row + ROWS <= tile->rows; row += ROWS) {
        line_begin(s, tile, row, &l, &c);
        if (tile->stream)
            across_lines(s, tile, &l, ROWS, true);
        else
            across_lines(s, tile, &l, ROWS, false);
    }
    for (; row < tile->rows; row++) {
        line_begin(s, tile, row, &l, &c);
        if (can_stream(s, tile, &l))
            across_lines(s, tile, &l, 1, true);
        else
            across_lines(s, tile, &l, 1, false);
    }
}

/* Fetching is for rows that are longer than what is fetched at once. */
INLINE void row_body(const shape *terms, const shape *outs, const vjpi_tile *tile)
{
    T sum[VJPI_MAX_SUMS];
    uintptr_t next[VJPI_MAX_OPERANDS];
    bool fetches = tile->stream && tile->n * SIZE > 2 * FETCH_AHEAD;
    vjpi_tile rows = *tile;
    line l;
    copies c;
    rows.data[outs->noperands - 1] = (char *)sum;
    rows.row_step[outs->noperands - 1] = 0;
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        line_begin(terms, &rows, row, &l, &c);
        if (fetches)
            along_line(terms, tile->constants, &l, tile->n, true, sum);
        else
            along_line(terms, tile->constants, &l, tile->n, false, sum);
        line_begin(outs, &rows, row, &l, &c);
        for (int i = 0; fetches && i < outs->nin; i++)
            next[i] = (uintptr_t)tile->data[i] + (uintptr_t)((row + 1) * tile->row_step[i]);
        if (!can_stream(outs, tile, &l))
            map_line(outs, tile->constants, &l, tile->n, false, NULL);
        else if (fetches)
            map_line(outs, tile->constants, &l, tile->n, true, next);
        else
            map_line(outs, tile->constants, &l, tile->n, true, NULL);
    }
}
