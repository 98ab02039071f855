/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - the operands of one tile: used directly where they are dense, else copied.
 *
 * A strided input is gathered into a small dense buffer, a strided output is computed there and
 * scattered. The copy runs along whichever of its two sides is closer in memory, so that a
 * transposed operand is read and written in whole cache lines. */
#include <assert.h>
#include <string.h>

#include "cpu/nest.h"

#define INLINE static inline __attribute__((always_inline))

#define FETCH_ROWS 32 /* prefetch distance: the hardware does not predict lines that are apart */

/* to[r * to_row + c * to_step] = from[...] for r < rows, c < n; steps in bytes, size constant. */
INLINE void copy_elements(int64_t rows, int64_t n, const char *from, int64_t from_row,
                          int64_t from_step, char *to, int64_t to_row, int64_t to_step,
                          size_t size)
{
    for (int64_t r = 0; r < rows; r++) {
        uintptr_t ahead = (uintptr_t)from + (uintptr_t)((r + FETCH_ROWS) * from_row);
        __builtin_prefetch((const void *)ahead);
        for (int64_t c = 0; c < n; c++)
            memcpy(to + r * to_row + c * to_step, from + r * from_row + c * from_step, size);
    }
}

static int64_t magnitude(int64_t a)
{
    return a < 0 ? -a : a;
}

static void copy(int64_t rows, int64_t n, const char *from, int64_t from_row, int64_t from_step,
                 char *to, int64_t to_row, int64_t to_step, int64_t size)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    /* The inner loop runs along the smaller stride of the strided side. */
    bool is_pack = to_step == size;
    int64_t row = is_pack ? from_row : to_row, step = is_pack ? from_step : to_step;
    if (rows > 1 && magnitude(row) < magnitude(step)) {
        int64_t swap = rows;
        rows = n, n = swap;
        swap = from_row, from_row = from_step, from_step = swap;
        swap = to_row, to_row = to_step, to_step = swap;
    }
    if (size == 2)
        copy_elements(rows, n, from, from_row, from_step, to, to_row, to_step, 2);
    else if (size == 4)
        copy_elements(rows, n, from, from_row, from_step, to, to_row, to_step, 4);
    else if (size == 8)
        copy_elements(rows, n, from, from_row, from_step, to, to_row, to_step, 8);
    else
        copy_elements(rows, n, from, from_row, from_step, to, to_row, to_step, 1);
}

void vjpi_tile_begin(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                     char *scratch, vjpi_tile *tile)
{
    tile->n = vjpi_edge_length(&nest->inner, walk);
    tile->rows = vjpi_edge_length(&nest->row, walk);
    tile->repeated = nest->repeated;
    tile->axis_inner = nest->axis_inner;
    tile->axis_row = nest->axis_row;
    tile->index = 0;
    if (nest->index_axis >= 0)
        tile->index = walk->index[nest->index_axis] * (nest->axis_inner ? nest->inner.block
                                                       : nest->axis_row ? nest->row.block : 1);
    for (int32_t i = 0; i < nest->noperands; i++) {
        if (!(operands.tile >> i & 1))
            continue;
        tile->data[i] = walk->at[i];
        tile->row_step[i] = nest->row.step[i];
        if (!(nest->packed >> i & 1))
            continue;
        tile->data[i] = scratch;
        tile->row_step[i] = tile->n * nest->size[i];
        scratch += vjpi_pack_size(nest->packed);
        if (!(operands.outputs >> i & 1))
            copy(tile->rows, tile->n, walk->at[i], nest->row.step[i], nest->inner.step[i],
                 tile->data[i], tile->row_step[i], nest->size[i], nest->size[i]);
        else
            tile->non_temporal = false; /* computed in the buffer first */
    }
}

void vjpi_tile_end(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                   const vjpi_tile *tile)
{
    uint32_t unpack = nest->packed & operands.tile & operands.outputs;
    for (int32_t i = 0; unpack >> i != 0; i++)
        if (unpack >> i & 1)
            copy(tile->rows, tile->n, tile->data[i], tile->row_step[i], nest->size[i],
                 walk->at[i], nest->row.step[i], nest->inner.step[i], nest->size[i]);
}
