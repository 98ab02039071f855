/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - the operands of one tile: in place where they are dense, else copied.
 *
 * A strided input is gathered into a small dense buffer, a strided output is computed there and
 * scattered. The copy runs along whichever of its two sides is closer in memory, so that a
 * transposed operand is read and written in whole cache lines. */
#include <string.h>

#include "cpu/nest.h"

#define INLINE static inline __attribute__((always_inline))

#define FETCH_ROWS 32 /* so far ahead, memory is asked for: lines that lie apart are not foreseen */

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
    /* Walk the strided side's nearer direction in the inner loop. */
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
    else
        copy_elements(rows, n, from, from_row, from_step, to, to_row, to_step, 8);
}

static bool is_output(vjpi_tile_operands operands, int32_t i)
{
    return i >= operands.first_output && i < operands.first_output + operands.nfull;
}

void vjpi_tile_begin(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                     char *scratch, vjpi_tile *tile)
{
    tile->n = vjpi_edge_length(&nest->inner, walk);
    tile->rows = vjpi_edge_length(&nest->row, walk);
    tile->repeated = nest->repeated;
    for (int32_t i = 0; i < operands.n; i++) {
        tile->data[i] = walk->at[i];
        tile->row_step[i] = nest->row.step[i];
        if (!(nest->packed >> i & 1))
            continue;
        tile->data[i] = scratch;
        tile->row_step[i] = tile->n * nest->size[i];
        scratch += VJPI_PACK_SIZE;
        if (!is_output(operands, i))
            copy(tile->rows, tile->n, walk->at[i], nest->row.step[i], nest->inner.step[i],
                 tile->data[i], tile->row_step[i], nest->size[i], nest->size[i]);
        else
            tile->stream = false; /* it goes to the buffer first */
    }
}

void vjpi_tile_end(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                   const vjpi_tile *tile)
{
    if (!nest->packed)
        return;
    for (int32_t i = operands.first_output; i < operands.first_output + operands.nfull; i++)
        if (nest->packed >> i & 1)
            copy(tile->rows, tile->n, tile->data[i], tile->row_step[i], nest->size[i],
                 walk->at[i], nest->row.step[i], nest->inner.step[i], nest->size[i]);
}
