/* SPDX-License-Identifier: Apache-2.0 */
/* across.h - sums of columns: the loops over the rows of a tile, and several rows at once. Part of
 * loops.c, after lines.h. */

/* One pair in each of `rows` rows: its terms are added to the sums of their columns, top to bottom.
 * Column c of sum i is at [i * n + c], except that whole pairs keep their register order until
 * order_sums. */
INLINE void across_pair(use u, const vjpi_tile *tile, const line *l, int rows, T *sums,
                        ptrdiff_t at, ptrdiff_t some, bool non_temporal)
{
    VV terms[VJPI_MAX_SUMS], sum[VJPI_MAX_SUMS];
    const int nterms = term_count(u);
    for (int i = 0; i < nterms; i++)
        sum[i] =
            some ? load_some_T(sums + i * tile->n + at, some) : LOAD_T(sums + i * tile->n + at);
    UNROLL
    for (int row = 0; row < rows; row++) {
        line below = *l;
        below.row += row;
        EVERY
        for (int i = 0; i < operand_count(u); i++)
            if (row > 0 && is_used(u, i))
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
                if (role_of(u, i) == VJPI_ELEMENTS && !is_absent(u, i))
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
    bool can = is_pass(u);
    EVERY
    for (int i = 0; i < operand_count(u); i++)
        can = can && !(is_read(u, i) && !is_absent(u, i) && tile->repeated >> i & 1);
    for (int i = 0; can && i < u.op->nin; i++)
        if (role_of(u, i) == VJPI_ELEMENTS && !is_absent(u, i))
            can =
                tile->row_step[i] % VJPI_PAGE != 0 &&
                (tile->row_step[i] != tile->n * size_of(u, tile, i) || tile->row_step[i] < NARROW);
    return can;
}

/* A long formula takes a block of columns through all rows of the tile, unless an operand has copies
 * that differ from row to row. */
INLINE bool takes_all_rows(use u, const vjpi_tile *tile)
{
    ONCE
    for (int i = 0; i < operand_count(u); i++)
        if (is_read(u, i) && needs_copies(u, i) && tile->repeated >> i & 1 &&
            tile->row_step[i] != 0)
            return false;
    return true;
}

/* May the outputs of all rows bypass the caches, or of none? */
INLINE bool can_bypass_all(use u, const vjpi_tile *tile)
{
    bool can = bypass_from(u, tile, 0) == 0;
    for (int i = u.op->nin; can && i < u.op->nin + u.op->nout; i++)
        if (is_written(u, i) && !(tile->repeated >> i & 1))
            can = tile->row_step[i] % CACHE_LINE == 0;
    return can;
}

INLINE void across_body(use u, const vjpi_tile *tile)
{
    _Alignas(64) char copies[COPIES * COPY_SIZE];
    line l;
    ptrdiff_t row = 0;
    line_prepare(u, tile, &l);
    if (u.heavy && takes_all_rows(u, tile)) {
        line_begin(u, tile, 0, &l, copies);
        across_lines(u, tile, &l, tile->rows, can_bypass_all(u, tile));
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
        bool bypass = bypass_from(u, tile, row) == 0;
        if (u.heavy)
            across_lines(u, tile, &l, 1, bypass);
        else if (bypass)
            across_lines(u, tile, &l, 1, true);
        else
            across_lines(u, tile, &l, 1, false);
    }
}
