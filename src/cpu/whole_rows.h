/* SPDX-License-Identifier: Apache-2.0 */
/* whole_rows.h - all passes over each row of a tile, and what kernels call. Part of loops.c, after
 * lines.h and across.h. */

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
    line_prepare(u, tile, &l);
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
    line_prepare(last, tile, &l);
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
            if (!is_absent(last, i))
                next[i] = (uintptr_t)tile->data[i] + (uintptr_t)((row + 1) * tile->row_step[i]);
        ptrdiff_t lead = bypass_from(last, tile, row);
        if (lead < 0)
            map_line(last, tile, &l, n, false, 0, NULL);
        else if (fetches)
            map_line(last, tile, &l, n, true, lead, next);
        else
            map_line(last, tile, &l, n, true, lead, NULL);
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
    if (non_temporal) { /* one row of whole pairs: map_row */
        light_pairs(u, tile, &o, start, n, true);
        return;
    }
    for (; rows > 0; rows--, start += tile->axis_row) {
        light_line(u, tile, &o, start, n);
        if (rows > 1)
            next_row(u, tile, &o);
    }
}
