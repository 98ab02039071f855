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

struct vjpi_stage {
    void (*run)(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);
    int64_t nunits, ntasks;
    int32_t nest; /* which of the plan's nests */
    vjpi_tile_operands operands;
};

typedef struct vjpi_cpu_plan {
    const vjpi_kernel_set *set;
    const vjpi_kernels *kernels;
    double constants[VJPI_MAX_ATTRS];
    int32_t nstages;
    int32_t ninputs;
    vjpi_stage stages[VJPI_MAX_STAGES];
    vjpi_nest nests[2];

    /* folds, and row operators done as a fold and a map */
    int32_t nsums, first_sum;  /* operands first_sum .. are sums */
    int64_t nsegments;         /* each unit's steps are cut into so many, summed apart */
    int64_t sums_width;        /* room for the sums of one unit, in elements */
    int64_t rowsums_size;      /* bytes of the row sums, behind the segments' in the workspace */
    void (*store[2])(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step);

    bool stream;               /* more data than the caches hold */
} vjpi_cpu_plan;

/* One run of a plan. */
struct vjpi_job {
    const vjpi_cpu_plan *plan;
    char *data[VJPI_MAX_OPERANDS];
    char *segments; /* [segment][unit][sums_width * nsums] of the compute type */
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
void vjpi_map_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);

/* fold.c: units x segments; then the segments of each unit together; +0 for an empty sum */
void vjpi_fold_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);
void vjpi_join_segments(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);
void vjpi_zero_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);

/* Where packed operands and the sums of one unit are made: on the stack of whoever makes them. */
#define VJPI_SUM_LEVELS 10
#define VJPI_ROOM_SIZE ((VJPI_SUM_LEVELS + 1) * VJPI_SUMS_SIZE)

typedef struct vjpi_room {
    _Alignas(64) char bytes[VJPI_ROOM_SIZE];
} vjpi_room;

_Static_assert(VJPI_ROOM_SIZE >= VJPI_MAX_PACKED * VJPI_PACK_SIZE +
                                     (VJPI_SUM_LEVELS + 1) * VJPI_SUMS_SIZE_PACKED,
               "a packed nest needs its operands' buffers and smaller rows of sums");

/* The sums over steps [begin, end) of a unit: one for each row or column, somewhere in the room. */
char *vjpi_sum_steps(const vjpi_job *job, const vjpi_nest *nest, vjpi_tile_operands operands,
                     const vjpi_walk *unit, int64_t begin, int64_t end, vjpi_room *room);

/* row.c: whole rows; columns of rows */
void vjpi_row_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);
void vjpi_column_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end);

/* parallel.c: task(arg, i) for i < ntasks, as the context says. */
void vjpi_parallel(const vjp_context *ctx, int64_t ntasks, vjp_task task, void *arg);

#endif
