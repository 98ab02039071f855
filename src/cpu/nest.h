/* SPDX-License-Identifier: Apache-2.0 */
/* nest.h - a loop cut into tiles, and a walk over them.
 *
 * Two dims of the loop span a tile: `inner` (n) and `row` (rows). They are cut into blocks. Units
 * are tiles, or columns of tiles, that can be done in any order and on any thread; where a sum runs
 * over dims, the tiles of one unit are its steps, done in order. Every choice here depends only on
 * shapes, strides and dtypes, and so do the bits of a sum. */
#ifndef VJPI_NEST_H
#define VJPI_NEST_H

#include "core/layout.h"
#include "cpu/kernels.h"

/* Sums are split into segments of at least this many elements, whatever the formula: their bits
 * depend on it. Tasks and units are fractions of it. */
#ifndef VJPI_GRAIN /* VJP_TASK_ELEMENTS of the build */
#define VJPI_GRAIN 65536
#endif

/* Bytes of one packed operand in a tile; a quarter if more of them share the buffer. */
#define VJPI_PACK_SIZE 4096
#define VJPI_MAX_PACKED 5
#define VJPI_PACKED_SIZE (VJPI_MAX_PACKED * VJPI_PACK_SIZE)

static inline int64_t vjpi_pack_size(uint32_t packed)
{
    return __builtin_popcount(packed) > VJPI_MAX_PACKED ? VJPI_PACK_SIZE / 4 : VJPI_PACK_SIZE;
}

typedef struct vjpi_axis {
    int64_t count;
    int64_t step[VJPI_MAX_OPERANDS];
} vjpi_axis;

typedef struct vjpi_edge { /* a side of the tile */
    int64_t n, block;
    int64_t step[VJPI_MAX_OPERANDS];
    int32_t axis; /* the axis that counts its blocks */
} vjpi_edge;

typedef struct vjpi_nest {
    vjpi_edge inner, row;
    int32_t nunit_axes, naxes;      /* axes of units, then axes of steps; the last varies fastest */
    vjpi_axis axes[VJP_MAX_DIMS + 2];
    int64_t nunits, nsteps;
    int32_t noperands;
    int64_t size[VJPI_MAX_OPERANDS], offset[VJPI_MAX_OPERANDS];
    uint32_t repeated, packed;      /* bit i: operand i is one element along inner; needs packing */
    bool sums_inner;                /* a sum runs along inner (else along row) */
    bool axis_inner, axis_row;      /* rows of the operator run along inner; along row */
    int32_t index_axis;             /* the axis that counts along them; -1: none does */
} vjpi_nest;

/* A position in the units or steps of a nest: indices, and each operand's address. */
typedef struct vjpi_walk {
    int64_t index[VJP_MAX_DIMS + 2];
    char *at[VJPI_MAX_OPERANDS];
} vjpi_walk;

/* nest.c: how to do a loop. tile: bit i: operand i takes part in tiles; width: how many rows or
 * columns may be summed side by side; set: the dims that are summed, VJPI_AXIS or VJPI_SUMMED. */
void vjpi_nest_map(const vjpi_loop *loop, uint32_t tile, vjpi_nest *nest);
void vjpi_nest_fold(const vjpi_loop *loop, uint32_t tile, int set, int64_t width, vjpi_nest *nest);
/* false: the loop has only the axis, and it is strided, or the axis consists of several dims. */
bool vjpi_nest_row(const vjpi_loop *loop, uint32_t inputs, uint32_t tile, int64_t width,
                   vjpi_nest *nest);
/* Tiles of a few whole rows as the steps of one unit, whose columns are summed. false: the axis is
 * not dense, or the sums run over anything but the rows. */
bool vjpi_nest_row_fold(const vjpi_loop *loop, uint32_t inputs, uint32_t tile, vjpi_nest *nest);

/* Start at unit (step) `start`; advance to the next. */
void vjpi_walk_units(const vjpi_nest *nest, char *const *data, int64_t start, vjpi_walk *walk);
void vjpi_next_unit(const vjpi_nest *nest, vjpi_walk *walk);

/* Units are small, so that any number of threads can share them evenly; one thread does neighbours
 * together. join: enlarge the tile of the unit at `walk` by those that follow it along one edge, up
 * to `most` units in all, and return how many. next_units: go to the unit after them. */
int64_t vjpi_join_units(const vjpi_nest *nest, const vjpi_walk *walk, int64_t most,
                        vjpi_tile *tile);
void vjpi_next_units(const vjpi_nest *nest, int64_t units, vjpi_walk *walk);

void vjpi_walk_steps(const vjpi_nest *nest, const vjpi_walk *unit, int64_t start,
                     vjpi_walk *walk);
void vjpi_next_step(const vjpi_nest *nest, vjpi_walk *walk);

/* How many elements of an edge the tile at `walk` has. */
static inline int64_t vjpi_edge_length(const vjpi_edge *edge, const vjpi_walk *walk)
{
    int64_t rest = edge->n - walk->index[edge->axis] * edge->block;
    return rest < edge->block ? rest : edge->block;
}

/* tile.c: the operands `tile` of the tile at `walk`, packed into `scratch` (VJPI_PACKED_SIZE bytes)
 * where they are not dense; those in `outputs` are written. vjpi_tile_end copies packed outputs to
 * their destination. */
typedef struct vjpi_tile_operands {
    uint32_t tile, outputs;
} vjpi_tile_operands;

void vjpi_tile_begin(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                     char *scratch, vjpi_tile *tile);
void vjpi_tile_end(const vjpi_nest *nest, const vjpi_walk *walk, vjpi_tile_operands operands,
                   const vjpi_tile *tile);

#endif
