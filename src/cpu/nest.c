/* SPDX-License-Identifier: Apache-2.0 */
/* nest.c - which dims span the tiles, how large the tiles are, and how they are walked. */
#include <string.h>

#include "cpu/nest.h"

#define UNIT_ELEMENTS (VJPI_GRAIN / 16) /* of a unit that others may join */
#define LINE_ELEMENTS 65536   /* of a line that is summed: its sums have a level for each */
#define CACHE_SIZE 8388608    /* bytes that a unit may read twice and still find in a cache */
#define NEAR_CACHE_SIZE 786432 /* the same for the nearest cache */
#define LEAST_COLUMNS 256     /* of a unit that does not fit: short runs of memory cost more */
#define LEAST_RUN 2048        /* contiguous bytes from which using the nearer cache pays */

/* ---- choosing dims ------------------------------------------------------------------------ */

static bool is_dense(const vjpi_loop *loop, const vjpi_dim *dim, int32_t i)
{
    return dim->step[i] == loop->size[i] || dim->step[i] == 0;
}

static bool all_dense(const vjpi_loop *loop, const vjpi_dim *dim, uint32_t tile)
{
    for (int32_t i = 0; i < loop->noperands; i++)
        if (tile >> i & 1 && !is_dense(loop, dim, i))
            return false;
    return true;
}

/* Which dims are selected: all, or those that are (are not) in a set. */
typedef struct dims {
    int set;
    bool in;
} dims;

static const dims all_dims = { 0, false };

static bool belongs(const vjpi_dim *dim, dims wanted)
{
    return (dim->reduced & wanted.set) != 0 ? wanted.in : !wanted.in || wanted.set == 0;
}

/* The innermost of them; -1 if there is none. */
static int32_t innermost(const vjpi_loop *loop, dims wanted)
{
    int32_t d = loop->ndim - 1;
    while (d >= 0 && !belongs(&loop->dims[d], wanted))
        d--;
    return d;
}

/* The dim for a tile's rows: next to inner in memory for an operand that must be packed, so that
 * whole cache lines are used; else the innermost that is left. */
static int32_t choose_row(const vjpi_loop *loop, uint32_t tile, int32_t inner, dims wanted)
{
    int32_t best = -1, packed = -1;
    for (int32_t i = 0; i < loop->noperands && inner >= 0 && packed < 0; i++)
        if (tile >> i & 1 && !is_dense(loop, &loop->dims[inner], i))
            packed = i;
    for (int32_t d = loop->ndim - 1; d >= 0; d--) {
        const vjpi_dim *dim = &loop->dims[d];
        if (d == inner || !belongs(dim, wanted))
            continue;
        if (best < 0) {
            best = d;
        } else if (packed >= 0) {
            int64_t step = dim->step[packed], least = loop->dims[best].step[packed];
            step = step < 0 ? -step : step;
            least = least < 0 ? -least : least;
            best = step != 0 && (step < least || least == 0) ? d : best;
        }
    }
    return best;
}

static void set_edge(const vjpi_loop *loop, int32_t d, vjpi_edge *edge)
{
    memset(edge, 0, sizeof(*edge));
    edge->n = edge->block = 1;
    if (d < 0)
        return;
    edge->n = edge->block = loop->dims[d].n;
    memcpy(edge->step, loop->dims[d].step, sizeof(edge->step));
}

/* ---- building ----------------------------------------------------------------------------- */

static void begin(const vjpi_loop *loop, uint32_t tile, int32_t inner, int32_t row,
                  vjpi_nest *nest)
{
    memset(nest, 0, sizeof(*nest));
    nest->noperands = loop->noperands;
    memcpy(nest->size, loop->size, sizeof(nest->size));
    memcpy(nest->offset, loop->offset, sizeof(nest->offset));
    set_edge(loop, inner, &nest->inner);
    set_edge(loop, row, &nest->row);
    nest->index_axis = -1;
    nest->axis_inner = inner >= 0 && loop->dims[inner].reduced & VJPI_AXIS;
    nest->axis_row = row >= 0 && loop->dims[row].reduced & VJPI_AXIS;
    for (int32_t i = 0; i < loop->noperands && inner >= 0; i++) {
        if (!(tile >> i & 1))
            continue;
        if (loop->dims[inner].step[i] == 0)
            nest->repeated |= 1u << i;
        else if (!is_dense(loop, &loop->dims[inner], i))
            nest->packed |= 1u << i;
    }
}

/* A tile that is packed: rows of a cache line's length, so that a transposed operand is read in
 * whole lines. */
static void cut_packed(vjpi_nest *nest, uint32_t tile, int64_t most_rows)
{
    int64_t size = 1;
    for (int32_t i = 0; i < nest->noperands; i++)
        if (tile >> i & 1)
            size = nest->size[i] > size ? nest->size[i] : size;
    int64_t rows = 64 / size < most_rows ? 64 / size : most_rows;
    nest->row.block = nest->row.n < rows ? nest->row.n : rows;
    int64_t n = vjpi_pack_size(nest->packed) / size / nest->row.block;
    nest->inner.block = nest->inner.n < n ? nest->inner.n : n;
}

/* Blocks of whole cache lines where there are several: two blocks that share a line would spoil
 * each other's non-temporal stores. */
static void cut(vjpi_edge *edge, int64_t block)
{
    block = block < 1 ? 1 : block > 64 ? block / 64 * 64 : block;
    edge->block = edge->n < block ? edge->n : block;
}

static void add_axis(vjpi_nest *nest, int64_t count, const int64_t *step, int64_t factor)
{
    vjpi_axis *axis = &nest->axes[nest->naxes++];
    axis->count = count;
    for (int32_t i = 0; i < nest->noperands; i++)
        axis->step[i] = step[i] * factor;
}

static void add_edge(vjpi_nest *nest, vjpi_edge *edge)
{
    edge->axis = nest->naxes;
    if (edge == &nest->inner ? nest->axis_inner : nest->axis_row)
        nest->index_axis = edge->axis;
    add_axis(nest, (edge->n + edge->block - 1) / edge->block, edge->step, edge->block);
}

/* The other selected dims, as axes. */
static void add_dims(const vjpi_loop *loop, int32_t inner, int32_t row, dims wanted,
                     vjpi_nest *nest)
{
    for (int32_t d = 0; d < loop->ndim; d++)
        if (d != inner && d != row && belongs(&loop->dims[d], wanted)) {
            if (loop->dims[d].reduced & VJPI_AXIS)
                nest->index_axis = nest->naxes;
            add_axis(nest, loop->dims[d].n, loop->dims[d].step, 1);
        }
}

static int64_t count(const vjpi_nest *nest, int32_t from, int32_t to)
{
    int64_t product = 1;
    for (int32_t a = from; a < to; a++)
        product *= nest->axes[a].count;
    return product;
}

static void end_units(vjpi_nest *nest)
{
    nest->nunit_axes = nest->naxes;
    nest->nunits = count(nest, 0, nest->naxes);
}

static void end_steps(vjpi_nest *nest)
{
    nest->nsteps = count(nest, nest->nunit_axes, nest->naxes);
}

void vjpi_nest_map(const vjpi_loop *loop, uint32_t tile, vjpi_nest *nest)
{
    int32_t inner = loop->ndim - 1, row = choose_row(loop, tile, inner, all_dims);
    begin(loop, tile, inner, row, nest);
    if (nest->packed) {
        cut_packed(nest, tile, 64);
    } else {
        cut(&nest->inner, UNIT_ELEMENTS);
        cut(&nest->row, UNIT_ELEMENTS / nest->inner.block);
    }
    add_dims(loop, inner, row, all_dims, nest);
    add_edge(nest, &nest->row);
    add_edge(nest, &nest->inner);
    end_units(nest);
    end_steps(nest);
}

void vjpi_nest_fold(const vjpi_loop *loop, uint32_t tile, int set, int64_t width, vjpi_nest *nest)
{
    const dims kept = { set, false }, reduced = { set, true };
    int32_t inner = loop->ndim - 1;
    bool sums_inner = inner >= 0 && belongs(&loop->dims[inner], reduced);
    int32_t row = choose_row(loop, tile, inner, sums_inner ? kept : reduced);
    begin(loop, tile, inner, row, nest);
    nest->sums_inner = sums_inner;
    if (nest->packed)
        cut_packed(nest, tile, VJPI_CHAIN);
    else if (sums_inner)
        cut(&nest->inner, LINE_ELEMENTS);
    else
        cut(&nest->row, VJPI_CHAIN);
    vjpi_edge *side = sums_inner ? &nest->row : &nest->inner;
    cut(side, side->block < width ? side->block : width);
    add_dims(loop, inner, row, kept, nest);
    add_edge(nest, side);
    end_units(nest);
    add_dims(loop, inner, row, reduced, nest);
    add_edge(nest, sums_inner ? &nest->inner : &nest->row);
    end_steps(nest);
}

static const dims on_axis = { VJPI_AXIS, true }, off_axis = { VJPI_AXIS, false };

/* The axis is dense in memory: each unit is a block of whole rows. */
static void nest_whole_rows(const vjpi_loop *loop, uint32_t tile, int32_t axis, vjpi_nest *nest)
{
    int32_t row = innermost(loop, off_axis);
    begin(loop, tile, axis, row, nest);
    nest->sums_inner = true;
    cut(&nest->row, UNIT_ELEMENTS / nest->inner.n);
    add_dims(loop, axis, row, off_axis, nest);
    add_edge(nest, &nest->row);
    end_units(nest);
    add_edge(nest, &nest->inner);
    end_steps(nest);
}

/* How many columns to sum before mapping them: as many as the nearer cache can hold, if that leaves
 * long enough runs of memory and rows do not compete for the same few of its sets. */
static int64_t columns_of_unit(const vjpi_nest *nest, uint32_t inputs)
{
    int64_t column = 0, least = LEAST_RUN;
    bool meet = false;
    for (int32_t i = 0; i < nest->noperands; i++) {
        if (!(inputs >> i & 1) || nest->size[i] == 0)
            continue;
        column += nest->size[i] * nest->row.n;
        least = nest->size[i] < least ? nest->size[i] : least;
        meet = meet || nest->row.step[i] % VJPI_PAGE == 0;
    }
    int64_t near = NEAR_CACHE_SIZE / column, columns = CACHE_SIZE / column;
    if (!meet && near * least >= LEAST_RUN)
        return near;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

bool vjpi_nest_row(const vjpi_loop *loop, uint32_t inputs, uint32_t tile, int64_t width,
                   vjpi_nest *nest)
{
    int32_t axis = innermost(loop, on_axis), inner = innermost(loop, off_axis);
    for (int32_t d = 0; d < axis; d++)
        if (loop->dims[d].reduced & VJPI_AXIS)
            return false; /* several dims, of which a tile has one */
    /* An axis of length 1 was dropped from the loop: each element is a row. */
    if (axis >= 0 && axis == loop->ndim - 1 && all_dense(loop, &loop->dims[axis], tile)) {
        nest_whole_rows(loop, tile, axis, nest);
        return true;
    }
    if (inner < 0 && axis >= 0)
        return false;
    begin(loop, tile, inner, axis, nest);
    if (nest->packed) {
        cut_packed(nest, tile, VJPI_CHAIN);
    } else {
        int64_t columns = columns_of_unit(nest, inputs);
        int64_t units = (nest->inner.n + columns - 1) / columns;
        cut(&nest->inner, (nest->inner.n + units - 1) / units + 63); /* of about the same size */
        cut(&nest->row, VJPI_CHAIN);
    }
    cut(&nest->inner, nest->inner.block < width ? nest->inner.block : width);
    add_dims(loop, inner, axis, off_axis, nest);
    add_edge(nest, &nest->inner);
    end_units(nest);
    add_edge(nest, &nest->row);
    end_steps(nest);
    return true;
}

bool vjpi_nest_row_fold(const vjpi_loop *loop, uint32_t inputs, uint32_t tile, vjpi_nest *nest)
{
    int32_t axis = innermost(loop, on_axis), row = innermost(loop, off_axis);
    int64_t row_size = 0;
    if (axis < 0 || axis != loop->ndim - 1 || !all_dense(loop, &loop->dims[axis], tile))
        return false;
    for (int32_t d = 0; d < loop->ndim; d++)
        if (loop->dims[d].reduced != (d == axis ? VJPI_AXIS : VJPI_SUMMED))
            return false;
    begin(loop, tile, axis, row, nest);
    for (int32_t i = 0; i < nest->noperands; i++)
        if (inputs >> i & 1)
            row_size += nest->size[i] * nest->inner.n;
    cut(&nest->row, NEAR_CACHE_SIZE / row_size < VJPI_CHAIN ? NEAR_CACHE_SIZE / row_size
                                                            : VJPI_CHAIN);
    add_edge(nest, &nest->inner);
    end_units(nest);
    add_dims(loop, axis, row, off_axis, nest);
    add_edge(nest, &nest->row);
    end_steps(nest);
    return true;
}

/* ---- walking ------------------------------------------------------------------------------ */

/* Set the indices of axes [from, to) to those of `start` and move the addresses there. */
static void seek(const vjpi_nest *nest, int32_t from, int32_t to, int64_t start, vjpi_walk *walk)
{
    for (int32_t a = to - 1; a >= from; a--) {
        int64_t n = nest->axes[a].count, index = start > 0 ? start % n : 0;
        start = start > 0 ? start / n : 0;
        walk->index[a] = index;
        for (int32_t i = 0; i < nest->noperands && index > 0; i++)
            walk->at[i] += index * nest->axes[a].step[i];
    }
}

static void next(const vjpi_nest *nest, int32_t from, int32_t to, vjpi_walk *walk)
{
    for (int32_t a = to - 1; a >= from; a--) {
        const vjpi_axis *axis = &nest->axes[a];
        bool carry = ++walk->index[a] == axis->count;
        int64_t turns = carry ? 1 - axis->count : 1;
        for (int32_t i = 0; i < nest->noperands; i++)
            walk->at[i] += turns * axis->step[i];
        if (!carry)
            return;
        walk->index[a] = 0;
    }
}

void vjpi_walk_units(const vjpi_nest *nest, char *const *data, int64_t start, vjpi_walk *walk)
{
    for (int32_t i = 0; i < nest->noperands; i++)
        walk->at[i] = data[i] + nest->offset[i];
    seek(nest, 0, nest->nunit_axes, start, walk);
}

void vjpi_next_unit(const vjpi_nest *nest, vjpi_walk *walk)
{
    next(nest, 0, nest->nunit_axes, walk);
}

/* The edge along which a unit that is not packed ends where the next one begins. */
static const vjpi_edge *joined_edge(const vjpi_nest *nest)
{
    return nest->inner.block < nest->inner.n ? &nest->inner : &nest->row;
}

int64_t vjpi_join_units(const vjpi_nest *nest, const vjpi_walk *walk, int64_t most, vjpi_tile *tile)
{
    if (nest->packed || most == 1)
        return 1;
    const vjpi_edge *edge = joined_edge(nest);
    int64_t left = nest->axes[edge->axis].count - walk->index[edge->axis];
    int64_t units = left < most ? left : most;
    int64_t rest = edge->n - walk->index[edge->axis] * edge->block, length = units * edge->block;
    *(edge == &nest->inner ? &tile->n : &tile->rows) = rest < length ? rest : length;
    return units;
}

void vjpi_next_units(const vjpi_nest *nest, int64_t units, vjpi_walk *walk)
{
    int32_t a = joined_edge(nest)->axis;
    walk->index[a] += units - 1;
    for (int32_t i = 0; i < nest->noperands && units > 1; i++)
        walk->at[i] += (units - 1) * nest->axes[a].step[i];
    vjpi_next_unit(nest, walk);
}

void vjpi_walk_steps(const vjpi_nest *nest, const vjpi_walk *unit, int64_t start,
                     vjpi_walk *walk)
{
    *walk = *unit;
    seek(nest, nest->nunit_axes, nest->naxes, start, walk);
}

void vjpi_next_step(const vjpi_nest *nest, vjpi_walk *walk)
{
    next(nest, nest->nunit_axes, nest->naxes, walk);
}
