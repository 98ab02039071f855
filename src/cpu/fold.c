/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - sums over some dims: a unit's tiles in order, their sums in a tree.
 *
 * A kernel adds at most VJPI_CHAIN terms in a row to each sum. Then that row of sums goes into a
 * tree in which each level adds up VJPI_SUM_RADIX rows before it hands one on. So few additions
 * lie between a term and the total (docs/design.md), and room is needed for the levels only. The
 * shape of the tree depends on the nest alone. */
#include <string.h>

#include "cpu/stage.h"

/* A row of accumulators, then the tree's levels. */
typedef struct sums {
    char *accumulators;
    int64_t n, size; /* of a row: elements, bytes */
    int32_t nlevels, count[VJPI_SUM_LEVELS];
} sums;

static char *level(const sums *s, int32_t l)
{
    return s->accumulators + (1 + l) * s->size;
}

/* How many sums of each kind the unit at `walk` has: its rows or its columns. */
static int64_t unit_width(const vjpi_nest *nest, const vjpi_walk *walk)
{
    return vjpi_edge_length(nest->sums_inner ? &nest->row : &nest->inner, walk);
}

static sums sums_begin(const vjpi_cpu_plan *plan, const vjpi_nest *nest, const vjpi_walk *unit,
                       char *room)
{
    sums s = { .accumulators = room, .nlevels = plan->sum_levels };
    if (nest->packed)
        s.accumulators += VJPI_PACKED_SIZE;
    s.n = unit_width(nest, unit) * plan->nsums;
    s.size = s.n * (int64_t)plan->set->compute_size;
    return s;
}

/* Has nothing been handed to the tree yet? */
static bool is_empty(const sums *s)
{
    int32_t handed = 0;
    for (int32_t l = 0; l < s->nlevels; l++)
        handed += s->count[l];
    return handed == 0;
}

/* Hand the accumulators to the tree. */
static void sums_push(const vjpi_kernel_set *set, sums *s)
{
    const char *carry = s->accumulators;
    for (int32_t l = 0; l < s->nlevels; l++) {
        char *own = level(s, l);
        if (s->count[l] == 0)
            memcpy(own, carry, (size_t)s->size);
        else
            set->add(own, carry, s->n);
        if (++s->count[l] < VJPI_SUM_RADIX || l == s->nlevels - 1)
            return;
        s->count[l] = 0;
        carry = own;
    }
}

/* The whole tree as one row, left in the accumulators. */
static void sums_end(const vjpi_kernel_set *set, const sums *s)
{
    bool first = true;
    for (int32_t l = 0; l < s->nlevels; l++) {
        if (s->count[l] == 0)
            continue;
        if (first)
            memcpy(s->accumulators, level(s, l), (size_t)s->size);
        else
            set->add(s->accumulators, level(s, l), s->n);
        first = false;
    }
}

char *vjpi_sum_steps(const vjpi_job *job, const vjpi_nest *nest, vjpi_tile_operands operands,
                     const vjpi_walk *unit, int64_t begin, int64_t end, char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    vjpi_kernel *kernel = nest->sums_inner ? plan->kernels->along : plan->kernels->across;
    sums s = sums_begin(plan, nest, unit, room);
    vjpi_tile tile = { .constants = plan->constants, .sums = s.accumulators };
    int64_t added = 0, most = nest->sums_inner ? 1 : nest->row.block;
    vjpi_walk walk;
    vjpi_walk_steps(nest, unit, begin, &walk);
    for (int64_t step = begin; step < end; step++) {
        if (added + most > VJPI_CHAIN) {
            sums_push(plan->set, &s);
            added = 0;
        }
        if (added == 0)
            memset(s.accumulators, 0, (size_t)s.size);
        tile.stream = job->stream;
        vjpi_tile_begin(nest, &walk, operands, room, &tile);
        kernel(&tile);
        vjpi_tile_end(nest, &walk, operands, &tile);
        added += most;
        vjpi_next_step(nest, &walk);
    }
    if (!is_empty(&s)) { /* else the accumulators have it all */
        sums_push(plan->set, &s);
        sums_end(plan->set, &s);
    }
    for (int32_t i = 0; !nest->sums_inner && plan->set->order && i < plan->nsums; i++)
        plan->set->order(s.accumulators + i * (s.size / plan->nsums), s.n / plan->nsums);
    return s.accumulators;
}

/* Round the unit's sums to the SUM outputs. */
static void store(const vjpi_job *job, const vjpi_nest *nest, const vjpi_walk *walk,
                  const char *sums)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_edge *kept = nest->sums_inner ? &nest->row : &nest->inner;
    int64_t width = vjpi_edge_length(kept, walk);
    for (int32_t i = 0; i < plan->nsums; i++)
        plan->store[i](sums + i * width * (int64_t)plan->set->compute_size, width,
                       walk->at[plan->first_sum + i], kept->step[plan->first_sum + i]);
}

static char *segment(const vjpi_job *job, const vjpi_nest *nest, int64_t index, int64_t unit)
{
    const vjpi_cpu_plan *plan = job->plan;
    return job->segments + (index * nest->nunits + unit) * plan->sums_width * plan->nsums *
                               (int64_t)plan->set->compute_size;
}

/* The stage's units are (segment, unit) pairs, the units of one segment next to each other. */
void vjpi_fold_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                     char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    vjpi_walk walk;
    vjpi_walk_units(nest, job->data, begin % nest->nunits, &walk);
    for (int64_t i = begin; i < end; i++) {
        int64_t index = i / nest->nunits, unit = i % nest->nunits;
        char *sums = vjpi_sum_steps(job, nest, stage->operands, &walk,
                                    vjpi_share(nest->nsteps, plan->nsegments, index),
                                    vjpi_share(nest->nsteps, plan->nsegments, index + 1), room);
        if (plan->nsegments == 1)
            store(job, nest, &walk, sums);
        else
            memcpy(segment(job, nest, index, unit), sums,
                   (size_t)(unit_width(nest, &walk) * plan->nsums) * plan->set->compute_size);
        vjpi_next_unit(nest, &walk);
    }
}

void vjpi_join_segments(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                        char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    vjpi_walk walk;
    vjpi_walk_units(nest, job->data, begin, &walk);
    for (int64_t unit = begin; unit < end; unit++) {
        sums s = sums_begin(plan, nest, &walk, room);
        for (int64_t i = 0; i < plan->nsegments; i++) {
            memcpy(s.accumulators, segment(job, nest, i, unit), (size_t)s.size);
            sums_push(plan->set, &s);
        }
        sums_end(plan->set, &s);
        store(job, nest, &walk, s.accumulators);
        vjpi_next_unit(nest, &walk);
    }
}

void vjpi_zero_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                     char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_walk walk;
    (void)room;
    vjpi_walk_units(nest, job->data, begin, &walk);
    for (int64_t unit = begin; unit < end; unit++) {
        for (int32_t i = 0; i < job->plan->nsums; i++)
            memset(walk.at[job->plan->first_sum + i], 0,
                   (size_t)nest->size[job->plan->first_sum + i]);
        vjpi_next_unit(nest, &walk);
    }
}
