/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - sums over some dims: a unit's tiles in order, their sums in a tree.
 *
 * A kernel adds at most VJPI_CHAIN consecutive terms to each sum. Then that row of sums goes into a
 * tree in which each level adds VJPI_SUM_RADIX rows before it passes one on. So there are few
 * additions between a term and the total (docs/design.md), and only the levels need storage. The
 * shape of the tree depends only on the nest. */
#include <string.h>

#include "cpu/stage.h"

/* A row of accumulators, then the tree's levels. */
typedef struct sums {
    char *accumulators;
    int64_t n, size; /* of a row: elements, bytes */
    int32_t nlevels, count[VJPI_SUM_LEVELS];
    void (*combine)(void *sums, const void *more, ptrdiff_t n);
} sums;

static char *level(const sums *s, int32_t l)
{
    return s->accumulators + (1 + l) * s->size;
}

/* The number of sums of each kind in the unit at `walk`: its rows or its columns. */
static int64_t unit_width(const vjpi_nest *nest, const vjpi_walk *walk)
{
    return vjpi_edge_length(nest->sums_inner ? &nest->row : &nest->inner, walk);
}

static sums sums_begin(const vjpi_job *job, const vjpi_stage *stage, const vjpi_fold *fold,
                       const vjpi_walk *unit, char *room)
{
    sums s = { .accumulators = vjpi_room_sums(job->plan, stage, room), .nlevels = fold->levels };
    s.combine = job->plan->set->combine[fold->is_max];
    s.n = unit_width(&job->plan->nests[stage->nest], unit) * fold->nsums;
    s.size = s.n * (int64_t)job->plan->set->compute_size;
    return s;
}

/* Is the tree still empty? */
static bool is_empty(const sums *s)
{
    int32_t handed = 0;
    for (int32_t l = 0; l < s->nlevels; l++)
        handed += s->count[l];
    return handed == 0;
}

/* Move the accumulators into the tree. */
static void sums_push(sums *s)
{
    const char *carry = s->accumulators;
    for (int32_t l = 0; l < s->nlevels; l++) {
        char *own = level(s, l);
        if (s->count[l] == 0)
            memcpy(own, carry, (size_t)s->size);
        else
            s->combine(own, carry, s->n);
        if (++s->count[l] < VJPI_SUM_RADIX || l == s->nlevels - 1)
            return;
        s->count[l] = 0;
        carry = own;
    }
}

/* The whole tree as one row, left in the accumulators. */
static void sums_end(const sums *s)
{
    bool first = true;
    for (int32_t l = 0; l < s->nlevels; l++) {
        if (s->count[l] == 0)
            continue;
        if (first)
            memcpy(s->accumulators, level(s, l), (size_t)s->size);
        else
            s->combine(s->accumulators, level(s, l), s->n);
        first = false;
    }
}

char *vjpi_sum_steps(const vjpi_job *job, const vjpi_stage *stage, const vjpi_fold *fold,
                     const vjpi_walk *unit, int64_t begin, int64_t end, vjpi_tile *tile, char *room,
                     vjpi_prepare_tile *prepare_tile)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    vjpi_kernel *kernel = nest->sums_inner ? plan->kernels->along[fold->part]
                                           : plan->kernels->across[fold->part];
    sums s = sums_begin(job, stage, fold, unit, room);
    int64_t added = 0, most = nest->sums_inner ? 1 : nest->row.block;
    vjpi_tile_operands operands = stage->operands;
    vjpi_walk walk;
    if (fold->part < plan->op->npasses - 1) /* an output in place is still an input */
        operands = (vjpi_tile_operands){ operands.tile & ~operands.outputs, 0 };
    tile->sums = s.accumulators;
    vjpi_walk_steps(nest, unit, begin, &walk);
    for (int64_t step = begin; step < end; step++) {
        if (added + most > VJPI_CHAIN) {
            sums_push(&s);
            added = 0;
        }
        if (added == 0)
            plan->set->clear[fold->is_max](s.accumulators, s.n);
        tile->non_temporal = job->non_temporal;
        vjpi_tile_begin(nest, &walk, operands, room, tile);
        if (prepare_tile)
            prepare_tile(job, stage, &walk, room, tile);
        kernel(tile);
        vjpi_tile_end(nest, &walk, operands, tile);
        added += most;
        vjpi_next_step(nest, &walk);
    }
    if (!is_empty(&s)) { /* else the accumulators hold the total */
        sums_push(&s);
        sums_end(&s);
    }
    if (!nest->sums_inner && plan->set->order)
        for (int32_t i = 0; i < fold->nsums; i++)
            plan->set->order(s.accumulators + i * (s.size / fold->nsums), s.n / fold->nsums);
    return s.accumulators;
}

/* The unit's sums, rounded to their targets. */
static void store(const vjpi_job *job, const vjpi_stage *stage, const vjpi_walk *walk,
                  const char *sums)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    const vjpi_edge *kept = nest->sums_inner ? &nest->row : &nest->inner;
    int64_t width = vjpi_edge_length(kept, walk);
    for (int32_t i = 0; i < stage->fold.nsums; i++) {
        int32_t target = stage->fold.target[i];
        if (target == VJPI_NO_TARGET)
            continue;
        plan->set->store(target < plan->ntensors ? (vjp_dtype)plan->dtypes[target] : plan->compute,
                         sums + i * width * (int64_t)plan->set->compute_size, width,
                         walk->at[target], kept->step[target]);
    }
}

static char *segment(const vjpi_job *job, const vjpi_stage *stage, int64_t index, int64_t unit)
{
    return job->segments + (index * job->plan->nests[stage->nest].nunits + unit) *
                               stage->fold.width * stage->fold.nsums *
                               (int64_t)job->plan->set->compute_size;
}

void vjpi_fold_with(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room, vjpi_prepare_tile *prepare_tile)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    const vjpi_fold *fold = &stage->fold;
    vjpi_walk walk;
    vjpi_tile tile;
    vjpi_first_tile(job, &tile);
    vjpi_walk_units(nest, job->data, begin % nest->nunits, &walk);
    for (int64_t i = begin; i < end; i++) {
        int64_t index = i / nest->nunits, unit = i % nest->nunits;
        char *sums = vjpi_sum_steps(job, stage, fold, &walk,
                                    vjpi_share(nest->nsteps, fold->nsegments, index),
                                    vjpi_share(nest->nsteps, fold->nsegments, index + 1),
                                    &tile, room, prepare_tile);
        if (fold->nsegments == 1)
            store(job, stage, &walk, sums);
        else
            memcpy(segment(job, stage, index, unit), sums,
                   (size_t)(unit_width(nest, &walk) * fold->nsums) * job->plan->set->compute_size);
        vjpi_next_unit(nest, &walk);
    }
}

void vjpi_fold_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                     char *room)
{
    vjpi_fold_with(job, stage, begin, end, room, NULL);
}

void vjpi_join_segments(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                        char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_walk walk;
    vjpi_walk_units(nest, job->data, begin, &walk);
    for (int64_t unit = begin; unit < end; unit++) {
        sums s = sums_begin(job, stage, &stage->fold, &walk, room);
        for (int64_t i = 0; i < stage->fold.nsegments; i++) {
            memcpy(s.accumulators, segment(job, stage, i, unit), (size_t)s.size);
            sums_push(&s);
        }
        sums_end(&s);
        store(job, stage, &walk, s.accumulators);
        vjpi_next_unit(nest, &walk);
    }
}

/* Empty sums: each element of the SUM outputs is a unit. */
void vjpi_zero_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                     char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_walk walk;
    (void)room;
    vjpi_walk_units(nest, job->data, begin, &walk);
    for (int64_t unit = begin; unit < end; unit++) {
        for (int32_t i = 0; i < job->plan->ntensors; i++)
            if (stage->operands.outputs >> i & 1)
                memset(walk.at[i], 0, (size_t)nest->size[i]);
        vjpi_next_unit(nest, &walk);
    }
}
