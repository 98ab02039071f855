/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - a CPU plan is a short list of stages, done one after the other.
 *
 * A stage is a number of units that may be done in any order and on any thread: the tiles of a
 * map, the (unit, segment) pairs of a fold, the rows of a row operator. */
#ifndef VJPI_STAGE_H
#define VJPI_STAGE_H

#include "cpu/nest.h"

#define VJPI_MAX_STAGES 3
#define VJPI_MAX_PACKED 5

typedef struct vjpi_job vjpi_job;
typedef struct vjpi_stage vjpi_stage;

/* Do units [begin, end). `room` is for packed operands and sums. */
typedef void vjpi_stage_run(const vjpi_job *job, const vjpi_stage *stage, int64_t begin,
                            int64_t end, char *room);

struct vjpi_stage {
    vjpi_stage_run *run;
    int64_t nunits, ntasks;
    int64_t room_size; /* bytes of a task's room in the workspace; 0: on its stack */
    int32_t nest;      /* which of the plan's nests */
    vjpi_tile_operands operands;
};

typedef struct vjpi_cpu_plan {
    const vjpi_kernel_set *set;
    const vjpi_kernels *kernels;
    float constants[VJPI_MAX_ATTRS];
    int32_t nstages;
    int32_t ninputs;
    vjpi_stage stages[VJPI_MAX_STAGES];
    vjpi_nest nests[2];

    /* folds, and row operators done as a fold and a map */
    int32_t nsums, first_sum;  /* operands first_sum .. are sums */
    int64_t nsegments;         /* each unit's steps are cut into so many, summed apart */
    int64_t sums_width;        /* the most sums of a kind that a unit has */
    int32_t sum_levels;        /* of the tree that a unit's sums are made in */
    int64_t rowsums_size, rooms_size; /* bytes in the workspace: row sums, rooms, then segments */
    void (*store[2])(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step);

    bool stream;               /* more data than the caches hold */
} vjpi_cpu_plan;

/* One run of a plan. */
struct vjpi_job {
    const vjpi_cpu_plan *plan;
    char *data[VJPI_MAX_OPERANDS];
    char *segments; /* [segment][unit][sums_width * nsums] of the compute type */
    char *rooms;    /* one for each task */
    bool stream;
};

/* Where the share of `index` begins when n is divided among `parts`. */
static inline int64_t vjpi_share(int64_t n, int64_t parts, int64_t index)
{
    if (parts == 1)
        return n * index; /* small work: two divisions are a tenth of it */
    int64_t more = n % parts;
    return n / parts * index + (index < more ? index : more);
}

/* map.c */
vjpi_stage_run vjpi_map_units;

/* fold.c: units x segments; then the segments of each unit together; +0 for an empty sum */
vjpi_stage_run vjpi_fold_units, vjpi_join_segments, vjpi_zero_units;

/* row.c: whole rows; columns of rows */
vjpi_stage_run vjpi_row_units, vjpi_column_units;

/* A task's room on its stack: packed operands, then a row of accumulators and the tree's levels.
 * Wide rows of sums let a fold over columns read long runs of memory, but then the room must come
 * from the workspace. */
#define VJPI_SUM_RADIX 4   /* rows of sums that a level of the tree adds up */
#define VJPI_SUM_LEVELS 10 /* at most */
#define VJPI_SUMS_SIZE 2048 /* bytes of a row of sums on the stack */
#define VJPI_PACKED_SIZE (VJPI_MAX_PACKED * VJPI_PACK_SIZE)
#define VJPI_ROOM_SIZE (VJPI_PACKED_SIZE + (VJPI_SUM_LEVELS + 1) * VJPI_SUMS_SIZE)

/* The sums over steps [begin, end) of a unit: one for each row or column, somewhere in the room. */
char *vjpi_sum_steps(const vjpi_job *job, const vjpi_nest *nest, vjpi_tile_operands operands,
                     const vjpi_walk *unit, int64_t begin, int64_t end, char *room);

#define VJPI_MAX_TASKS 256 /* of a stage; more threads than that would have nothing to do */

/* parallel.c: task(arg, i) for i < ntasks, as the context says; on how many threads a run started
 * here and now does so, 0 if the caller's parallel-for decides; the most that num_threads may
 * mean. */
void vjpi_parallel(const vjp_context *ctx, int64_t ntasks, vjp_task task, void *arg);
int32_t vjpi_threads(const vjp_context *ctx);
int32_t vjpi_most_threads(int32_t num_threads);

#endif
