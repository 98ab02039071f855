/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - a CPU plan is a short list of stages, executed one after the other.
 *
 * A stage is a number of units that may be done in any order and on any thread: the tiles of a
 * map, the (unit, segment) pairs of a fold, the rows of a row operator. */
#ifndef VJPI_STAGE_H
#define VJPI_STAGE_H

#include "core/lookup.h"
#include "cpu/nest.h"

#define VJPI_MAX_STAGES 14
#define VJPI_MAX_NESTS 3

/* The CPU's part of a context. */
typedef struct vjpi_cpu_context {
    const vjpi_isa *isa;  /* whose kernels run */
    int64_t cache_size;   /* bytes of the last-level cache */
    int32_t most_threads; /* of a team of OpenMP */
    vjpi_lookups lookups;
} vjpi_cpu_context;

static inline const vjpi_cpu_context *vjpi_cpu_state(const vjp_context *ctx)
{
    return (const vjpi_cpu_context *)(const void *)ctx->state;
}

typedef struct vjpi_job vjpi_job;
typedef struct vjpi_stage vjpi_stage;

/* Do units [begin, end). `room` is a buffer for packed operands, sums and row operands. */
typedef void vjpi_stage_run(const vjpi_job *job, const vjpi_stage *stage, int64_t begin,
                            int64_t end, char *room);

/* Sums over the steps of a unit, or maxima. */
typedef struct vjpi_fold {
    int32_t part;              /* the pass whose terms are added up */
    int32_t nsums;
    bool is_max;
    int32_t levels;            /* of the tree that a unit's sums are made in */
    int64_t width;             /* the most sums of one kind in a unit */
    int64_t nsegments;         /* that each unit's steps are split into, summed separately */
    uint8_t target[VJPI_MAX_SUMS]; /* the operands that the sums go to; NO_TARGET: nowhere */
} vjpi_fold;

#define VJPI_NO_TARGET 255

struct vjpi_stage {
    vjpi_stage_run *run;
    int64_t nunits, ntasks;
    int64_t room_size; /* bytes of a task's buffer in the workspace; 0: on its stack */
    int64_t capacity;  /* elements of each row array in its buffer */
    int64_t kept_rows; /* rows whose KEEP fits behind them; 0: it is computed again */
    int32_t nest;      /* which of the plan's nests */
    vjpi_tile_operands operands;
    vjpi_fold fold;
};

typedef struct vjpi_cpu_plan {
    const vjpi_kernel_set *set;
    const vjpi_kernels *kernels;
    const vjpi_op *op;
    vjp_dtype compute; /* the dtype of the compute type */
    uint32_t facts, passes;
    int32_t ntensors, nstages;
    uint8_t dtypes[VJPI_MAX_TENSORS];
    vjpi_stage stages[VJPI_MAX_STAGES];
    double constants[VJPI_MAX_CONSTANTS];    /* room for them in the compute type */
    double stand_ins[VJPI_MAX_TENSORS];      /* the elements read for omitted inputs */
    int64_t rows, length;                    /* of the data along the axis */
    bool causal;                             /* rows end at the diagonal */
    int32_t end;                             /* the tensor that says where rows end, or -1 */
    bool gathers, per_row;                   /* rows have inputs or skipped passes; outputs */
    int64_t causal_shift;                    /* a row ends this far after its own position */
    int32_t counter;                         /* the operand that counts the position of a row */
    int32_t row_arrays;                      /* row inputs, PER_ROW outputs and row values */
    uint8_t array_of[VJPI_MAX_OPERANDS];     /* which of them an operand is; NO_ARRAY: none */
    int64_t arrays_size, rooms_size;         /* bytes in the workspace: row arrays, task buffers */
    int64_t segments_size;                   /* the same: segments */
    bool non_temporal;                       /* more data than the caches hold */
    const vjpi_lookup *lookup;               /* the context's; NULL: the formula is used */
    vjpi_nest nests[VJPI_MAX_NESTS];         /* last: most of a plan, set where they are made */
} vjpi_cpu_plan;

#define VJPI_NO_ARRAY 255

/* One run of a plan. Where row operands are arrays in the workspace, data[] points to those; the
 * caller's are in rows[]. */
struct vjpi_job {
    const vjpi_cpu_plan *plan;
    char *data[VJPI_MAX_OPERANDS];
    char *rows[VJPI_MAX_OPERANDS];
    char *arrays;   /* of all rows: [row array][row] of the compute type */
    char *segments; /* [segment][unit][width * nsums] of the compute type */
    char *rooms;    /* one for each task */
    bool non_temporal;
    char *origin; /* where the operand that counts rows starts */
};

/* The start of share `index` when n is divided into `parts`. */
static inline int64_t vjpi_share(int64_t n, int64_t parts, int64_t index)
{
    if (parts == 1)
        return n * index; /* in a small run, two divisions are a tenth of the time */
    int64_t more = n % parts;
    return n / parts * index + (index < more ? index : more);
}

/* Row values and ROWLETs follow the tensors, then what is kept. */
static inline int32_t vjpi_row_values(const vjpi_cpu_plan *plan)
{
    return plan->op->nvalues + plan->op->nlets;
}

static inline int32_t vjpi_kept_operand(const vjpi_cpu_plan *plan)
{
    return plan->ntensors + vjpi_row_values(plan);
}

/* What is the same in every tile of a job. The stage fills in the rest of a tile: it is not
 * cleared, since that would slow small runs. */
static inline void vjpi_first_tile(const vjpi_job *job, vjpi_tile *tile)
{
    tile->facts = job->plan->facts;
    tile->passes = job->plan->passes;
    tile->dtypes = job->plan->dtypes;
    tile->constants = job->plan->constants;
    tile->lookup = job->plan->lookup;
    tile->repeated = 0;
    tile->ahead = 0;
    tile->end = job->plan->end;
    if (job->plan->op->keeps) { /* something to read while nothing is kept */
        int32_t kept = vjpi_kept_operand(job->plan);
        tile->data[kept] = (char *)(uintptr_t)job->plan->constants;
        tile->row_step[kept] = 0;
        tile->repeated |= 1u << kept;
    }
}

/* prepare.c: the stages of a call, and its workspace. */
size_t vjpi_cpu_prepare(const vjpi_call *call, vjpi_cpu_plan *plan);

/* lookup.c: replace the plan's formula by a table, if that pays; free the context's tables. */
void vjpi_cpu_lookup(vjp_context *ctx, const vjpi_call *call, vjpi_cpu_plan *plan);
void vjpi_cpu_close(vjp_context *ctx);

/* map.c */
vjpi_stage_run vjpi_map_units;

/* fold.c: units x segments; then the sum of each unit's segments; +0 for an empty sum */
vjpi_stage_run vjpi_fold_units, vjpi_join_segments, vjpi_zero_units;

/* row.c: whole rows; columns of rows; whole rows whose columns are summed */
vjpi_stage_run vjpi_row_units, vjpi_column_units, vjpi_row_fold_units;

/* row_arrays.c: row inputs of all rows into arrays; ROWLETs (fold.part) and PER_ROW outputs of all
 * rows from arrays */
vjpi_stage_run vjpi_gather_rows, vjpi_lets_rows, vjpi_finish_rows;

/* A task's buffer on its stack: packed operands, row arrays, then a row of accumulators and the
 * tree's levels. Wide rows of sums let a fold over columns read long runs of memory, but then the
 * buffer must be in the workspace. */
#define VJPI_SUM_RADIX 4   /* rows of sums that a level of the tree adds */
#define VJPI_SUM_LEVELS 10 /* at most */
#define VJPI_SUMS_SIZE 2048 /* bytes of a row of sums on the stack */
#define VJPI_ARRAYS_SIZE 3072 /* bytes of all row arrays there */
#define VJPI_ROOM_SIZE \
    (VJPI_PACKED_SIZE + VJPI_ARRAYS_SIZE + (VJPI_SUM_LEVELS + 1) * VJPI_SUMS_SIZE)

/* The parts of a task's buffer: packed operands are at its start. */
static inline char *vjpi_room_arrays(const vjpi_nest *nest, char *room)
{
    return nest->packed ? room + VJPI_PACKED_SIZE : room;
}

static inline char *vjpi_room_sums(const vjpi_cpu_plan *plan, const vjpi_stage *stage, char *room)
{
    return vjpi_room_arrays(&plan->nests[stage->nest], room) +
           plan->row_arrays * stage->capacity * (int64_t)plan->set->compute_size;
}

/* Called by a row operator's fold before each tile. */
typedef void vjpi_prepare_tile(const vjpi_job *job, const vjpi_stage *stage, const vjpi_walk *walk,
                               char *room, vjpi_tile *tile);

/* The sums over steps [begin, end) of a unit, one for each row or column: in the task's buffer, at
 * vjpi_room_sums. `tile` has what is the same in all of them, and is overwritten. */
char *vjpi_sum_steps(const vjpi_job *job, const vjpi_stage *stage, const vjpi_fold *fold,
                     const vjpi_walk *unit, int64_t begin, int64_t end, vjpi_tile *tile, char *room,
                     vjpi_prepare_tile *prepare_tile);

/* Units x segments, the units of one segment next to each other; prepare_tile: NULL or called
 * before each tile. */
void vjpi_fold_with(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room, vjpi_prepare_tile *prepare_tile);

/* row_arrays.c. The row operands of some rows are arrays of the compute type, `capacity` elements
 * each. gather: fill those of the inputs, n rows whose tensors are at `at`, step[] bytes from row
 * to row. lets: compute the ROWLETs that precede a pass. finish: compute the PER_ROW outputs and
 * store them. attach: point the tile's row operands at the arrays, row_step bytes from row to row
 * of the tile; 0: its rows share them. */
void vjpi_arrays_gather(const vjpi_job *job, char *const *at, const int64_t *step, int64_t n,
                        char *arrays, int64_t capacity);
void vjpi_arrays_lets(const vjpi_job *job, int32_t pass, int64_t n, char *arrays, int64_t capacity);
void vjpi_arrays_finish(const vjpi_job *job, char *const *at, const int64_t *step, int64_t n,
                        char *arrays, int64_t capacity);
void vjpi_arrays_attach(const vjpi_cpu_plan *plan, char *arrays, int64_t capacity,
                        int64_t row_step, vjpi_tile *tile);

/* The array of an operand. */
static inline char *vjpi_array(const vjpi_cpu_plan *plan, int32_t operand, char *arrays,
                               int64_t capacity)
{
    return arrays + plan->array_of[operand] * capacity * (int64_t)plan->set->compute_size;
}

#define VJPI_MAX_TASKS 256 /* of a stage; more threads than that would be idle */

/* parallel.c: the number of threads that a run started now would use, 0 if the caller's
 * parallel-for decides; run task(arg, i) for i < ntasks on that many; the upper limit of
 * num_threads. */
int32_t vjpi_threads(const vjp_context *ctx);
void vjpi_parallel(const vjp_context *ctx, int32_t threads, int64_t ntasks, vjp_task task,
                   void *arg);
int32_t vjpi_most_threads(int32_t num_threads);

#endif
