/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - reductions along an axis, then a map that needs them, while the data is in the cache. */
#include <string.h>

#include "cpu/stage.h"

#define NEAREST_CACHE 32768 /* bytes */
#define MOST_ROWS 32        /* taken through the passes together */

/* Let a tile of whole rows begin `rows` further down. Its row operands are arrays, and stay. */
static void move_down(const vjpi_nest *nest, uint32_t operands, int64_t rows, vjpi_tile *tile,
                      vjpi_walk *walk)
{
    for (int32_t i = 0; i < nest->noperands; i++) {
        walk->at[i] += rows * nest->row.step[i];
        if (operands >> i & 1)
            tile->data[i] = walk->at[i];
    }
}

/* The values of a tile's rows, pass by pass, into their arrays. */
static void row_passes(const vjpi_job *job, const vjpi_tile *tile, char *arrays, int64_t capacity)
{
    const vjpi_cpu_plan *plan = job->plan;
    double sums[VJPI_MAX_SUMS * MOST_ROWS];
    size_t size = (size_t)tile->rows * plan->set->compute_size;
    int32_t first = plan->ntensors;
    for (int32_t part = 0; part < plan->op->npasses - 1; part++) {
        vjpi_arrays_lets(job, part, tile->rows, arrays, capacity);
        int32_t count = VJPI_REDUCTIONS(plan->op->passes[part]);
        if (plan->passes >> part & 1) {
            vjpi_tile pass = *tile;
            pass.sums = sums;
            plan->set->clear[VJPI_IS_MAX(plan->op->passes[part])](sums, tile->rows * count);
            plan->kernels->along[part](&pass);
            for (int32_t i = 0; i < count; i++)
                memcpy(vjpi_array(plan, first + i, arrays, capacity),
                       (const char *)sums + (size_t)i * size, size);
        }
        first += count;
    }
    vjpi_arrays_lets(job, plan->op->npasses - 1, tile->rows, arrays, capacity);
}

/* How many rows to take through all passes at a time: as many as a near cache holds. */
static int64_t rows_at_once(const vjpi_cpu_plan *plan, const vjpi_stage *stage,
                            const vjpi_tile *tile)
{
    int64_t row_size = tile->n * (int64_t)plan->set->compute_size;
    int64_t rows = NEAREST_CACHE / row_size < MOST_ROWS ? NEAREST_CACHE / row_size : MOST_ROWS;
    if (plan->kernels->row)
        rows = stage->capacity; /* the kernel itself takes them one by one */
    if (stage->kept_rows > 0) /* as much again is kept */
        rows = stage->kept_rows < rows / 2 ? stage->kept_rows : rows / 2;
    return rows < 1 ? 1 : rows < stage->capacity ? rows : stage->capacity;
}

/* Where the rows of a tile keep the value of KEEP, if there is room. */
static void keep_rows(const vjpi_cpu_plan *plan, const vjpi_stage *stage, char *room,
                      vjpi_tile *tile)
{
    if (stage->kept_rows == 0)
        return;
    int32_t kept = vjpi_kept_operand(plan);
    tile->data[kept] = room + VJPI_ARRAYS_SIZE;
    tile->row_step[kept] = tile->n * (ptrdiff_t)plan->set->compute_size;
    tile->repeated &= ~(1u << kept);
    tile->facts |= VJPI_IS_KEPT;
}

/* Some whole rows from their inputs to their outputs. */
static void do_rows(const vjpi_job *job, const vjpi_stage *stage, char *const *at,
                    const vjpi_tile *tile, char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const int64_t *step = plan->nests[stage->nest].row.step;
    if (plan->gathers)
        vjpi_arrays_gather(job, at, step, tile->rows, room, stage->capacity);
    if (plan->kernels->row) {
        plan->kernels->row(tile);
    } else {
        row_passes(job, tile, room, stage->capacity);
        if (stage->operands.outputs & plan->facts)
            plan->kernels->map(tile);
    }
    if (plan->per_row)
        vjpi_arrays_finish(job, at, step, tile->rows, room, stage->capacity);
}

/* The axis is dense in memory: whole rows, as many as fit in their arrays. */
void vjpi_row_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    vjpi_tile tile;
    vjpi_walk walk;
    vjpi_first_tile(job, &tile);
    tile.non_temporal = job->non_temporal;
    vjpi_walk_units(nest, job->data, begin, &walk);
    walk.index[nest->inner.axis] = 0; /* the inner dim is not split: one step */
    for (int64_t unit = begin, units; unit < end; unit += units) {
        vjpi_tile_begin(nest, &walk, stage->operands, room, &tile);
        units = vjpi_join_units(nest, &walk, end - unit, &tile);
        int64_t rows = tile.rows, most = rows_at_once(plan, stage, &tile);
        tile.ahead = job->non_temporal ? most : 0;
        vjpi_arrays_attach(plan, room, stage->capacity, (int64_t)plan->set->compute_size, &tile);
        keep_rows(plan, stage, room, &tile);
        int64_t row = 0;
        for (; row + most < rows; row += most) {
            tile.rows = most;
            do_rows(job, stage, walk.at, &tile, room);
            move_down(nest, stage->operands.tile, most, &tile, &walk);
        }
        tile.rows = rows - row;
        do_rows(job, stage, walk.at, &tile, room);
        if (unit + units == end)
            break;
        move_down(nest, stage->operands.tile, -row, &tile, &walk);
        vjpi_next_units(nest, units, &walk);
    }
}

/* The values that one pass leaves for the columns of a unit. */
static void column_pass(const vjpi_job *job, const vjpi_stage *stage, int32_t part,
                        const vjpi_walk *unit, vjpi_tile *tile, int64_t width, char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    char *arrays = vjpi_room_arrays(nest, room);
    vjpi_fold fold = stage->fold;
    int32_t first = plan->ntensors;
    for (int32_t p = 0; p < part; p++)
        first += VJPI_REDUCTIONS(plan->op->passes[p]);
    fold.part = part;
    fold.nsums = VJPI_REDUCTIONS(plan->op->passes[part]);
    fold.is_max = VJPI_IS_MAX(plan->op->passes[part]);
    size_t size = (size_t)width * plan->set->compute_size;
    const char *sums =
        vjpi_sum_steps(job, stage, &fold, unit, 0, nest->nsteps, tile, room, NULL);
    for (int32_t i = 0; i < fold.nsums; i++)
        memcpy(vjpi_array(plan, first + i, arrays, stage->capacity), sums + (size_t)i * size, size);
}

/* Some other dim is inner: the values of a block of columns, then their outputs. */
void vjpi_column_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                       char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    char *arrays = vjpi_room_arrays(nest, room);
    vjpi_tile tile;
    vjpi_walk unit_walk, walk;
    vjpi_first_tile(job, &tile);
    vjpi_arrays_attach(plan, arrays, stage->capacity, 0, &tile);
    vjpi_walk_units(nest, job->data, begin, &unit_walk);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t width = vjpi_edge_length(&nest->inner, &unit_walk);
        if (plan->gathers)
            vjpi_arrays_gather(job, unit_walk.at, nest->inner.step, width, arrays, stage->capacity);
        for (int32_t part = 0; part < plan->op->npasses; part++) {
            vjpi_arrays_lets(job, part, width, arrays, stage->capacity);
            if (plan->passes >> part & 1)
                column_pass(job, stage, part, &unit_walk, &tile, width, room);
        }
        if (plan->per_row)
            vjpi_arrays_finish(job, unit_walk.at, nest->inner.step, width, arrays, stage->capacity);
        vjpi_walk_steps(nest, &unit_walk, 0, &walk);
        int64_t nsteps = stage->operands.outputs & plan->facts ? nest->nsteps : 0;
        for (int64_t step = 0, steps; step < nsteps; step += steps) {
            tile.non_temporal = job->non_temporal;
            vjpi_tile_begin(nest, &walk, stage->operands, room, &tile);
            steps = nest->packed ? 1 : nsteps; /* only sums are made in steps */
            if (steps > 1)
                tile.rows = nest->row.n;
            plan->kernels->map(&tile);
            vjpi_tile_end(nest, &walk, stage->operands, &tile);
            vjpi_next_step(nest, &walk);
        }
        vjpi_next_unit(nest, &unit_walk);
    }
}

/* Compute the values of a tile's whole rows, before it is mapped and its columns are summed. */
static void prepare_rows(const vjpi_job *job, const vjpi_stage *stage, const vjpi_walk *walk,
                         char *room, vjpi_tile *tile)
{
    const vjpi_cpu_plan *plan = job->plan;
    const int64_t *step = plan->nests[stage->nest].row.step;
    if (plan->gathers)
        vjpi_arrays_gather(job, walk->at, step, tile->rows, room, stage->capacity);
    vjpi_arrays_attach(plan, room, stage->capacity, (int64_t)plan->set->compute_size, tile);
    row_passes(job, tile, room, stage->capacity);
}

void vjpi_row_fold_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                         char *room)
{
    vjpi_fold_with(job, stage, begin, end, room, prepare_rows);
}
