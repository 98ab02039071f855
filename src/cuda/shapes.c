/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - the sizes of blocks and grids. They depend on shapes, strides and dtypes, and on
 * whether the addresses allow vectors; so does the order of additions in a sum. */
#include <string.h>

#include "cuda/stage.h"

#define ENOUGH_BLOCKS 4096 /* to fill any GPU evenly: the number of segments of a fold */
#define HELD_MOST (1 << (VJPI_CUDA_HELD - 1)) /* vectors that a thread holds at most, */
#define BLOCK_SLOTS (HELD_MOST * VJPI_CUDA_THREADS) /* and that a block does, in registers */
#define SUMMED_BLOCKS 1024 /* the same where blocks sum rows: each leaves a whole row of sums */
#define SUMMED_ROWS 16     /* of a segment at least */
#define COLUMN_LANES 8    /* vectors side by side in a block of columns: 128 bytes */
#define COLUMN_ROWS (VJPI_CUDA_THREADS / COLUMN_LANES) /* threads below each other there */

static int64_t cut(int64_t n, int64_t parts)
{
    return (n + parts - 1) / parts;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The smallest power of two that is not below n. */
static int64_t power(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static int log_of(int64_t power_of_two)
{
    int log = 0;
    while (power_of_two >> (log + 1))
        log++;
    return log;
}

/* Vectors that cover n elements, wherever in a vector they begin; or n elements. */
static int64_t slots_of(const vjpi_cuda_stage *stage, int64_t n, bool vectors, bool exact)
{
    if (!vectors)
        return n;
    return cut(n + (exact ? 0 : stage->elements - 1), stage->elements);
}

static int64_t count_outer(const vjpi_cuda_loop *loop, int32_t first, int32_t last)
{
    int64_t count = 1;
    for (int32_t d = first; d < last; d++)
        count *= loop->outer[d].n;
    return count;
}

/* ---- maps --------------------------------------------------------------------------------- */

/* As many blocks as fit on the device: each has the table in its shared memory. */
static void shape_lookup(const vjpi_cuda_plan *plan, vjpi_cuda_launch *launch)
{
    launch->flat = true;
    launch->lookup = plan->lookup;
    launch->kernel = plan->kernels->lookup;
    launch->x = (uint32_t)vjpi_cuda_lookup_threads((int)plan->dtype, plan->ninputs);
    launch->shared = (size_t)vjpi_cuda_window_size((int)plan->dtype, plan->ninputs);
    launch->blocks = (int64_t)plan->limits.multiprocessors *
                     vjpi_cuda_lookup_blocks((int)plan->dtype, plan->ninputs);
}

/* Small work in small blocks, so that more multiprocessors take part. */
static void shape_flat(const vjpi_cuda_plan *plan, int64_t slots, vjpi_cuda_launch *launch)
{
    bool small = slots < (int64_t)ENOUGH_BLOCKS * VJPI_CUDA_THREADS / 4;
    launch->flat = true;
    launch->kernel = plan->kernels->flat;
    launch->x = small ? VJPI_CUDA_THREADS / 4 : VJPI_CUDA_THREADS;
    launch->blocks = cut(slots, (int64_t)launch->x * VJPI_CUDA_MAP_STEPS);
}

/* More blocks than fit in 32 bits are too many for a launch as well: the caller refuses them. */
static void set_blocks(int64_t xblocks, int64_t yblocks, int64_t others, vjpi_cuda_launch *launch)
{
    launch->loop.xblocks = (uint32_t)xblocks;
    launch->loop.yblocks = (uint32_t)yblocks;
    launch->blocks = xblocks * yblocks * others;
}

static void shape_map(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                      bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    if (vectors && exact && loop->y.n == 1 && loop->nouter == 0 && !stage->repeats &&
        plan->kernels->flat) {
        if (plan->lookup)
            shape_lookup(plan, launch);
        else
            shape_flat(plan, slots, launch);
        return;
    }
    launch->kernel = plan->kernels->map[vectors];
    launch->x = (uint32_t)least(power(cut(slots, VJPI_CUDA_MAP_STEPS)), VJPI_CUDA_THREADS);
    launch->y = (uint32_t)least(power(loop->y.n), VJPI_CUDA_THREADS / launch->x);
    set_blocks(cut(slots, (int64_t)launch->x * VJPI_CUDA_MAP_STEPS), cut(loop->y.n, launch->y),
               count_outer(loop, 0, loop->nouter), launch);
}

static void shape_transposed(const vjpi_cuda_plan *plan, bool vectors, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t side = plan->size[0] > 4 ? VJPI_CUDA_TILE / 2 : VJPI_CUDA_TILE;
    launch->kernel = plan->kernels->transposed[vectors];
    launch->x = VJPI_CUDA_THREADS;
    set_blocks(cut(loop->x.n, side), cut(loop->y.n, side), count_outer(loop, 0, loop->nouter),
               launch);
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Where vectors are not possible a thread holds this many times as many single elements. */
static int64_t ones_of(const vjpi_cuda_stage *stage)
{
    return least(VJPI_CUDA_HELD_ONES, stage->elements);
}

/* Shared memory for what the threads of a block hold: in vectors of this many elements. */
static size_t held_room(const vjpi_cuda_plan *plan, const vjpi_cuda_launch *launch, int64_t held,
                        int64_t elements)
{
    int64_t size = plan->held_size * elements * held * launch->x * launch->y;
    return (size_t)((size + 15) / 16 * 16);
}

/* Shared memory to reduce columns in: a row of results for each warp, or row of threads if that is
 * wider, and for each block of a cluster; twice if there are several results. */
static size_t column_room(const vjpi_cuda_launch *launch, int64_t elements, int64_t size,
                          int32_t nresults)
{
    int64_t lanes = launch->x, rows = lanes < 32 ? lanes * launch->y / 32 : launch->y;
    int64_t clusters = launch->cluster > 1 ? launch->cluster : 0;
    return (size_t)((rows + clusters) * lanes * elements * size * (nresults > 1 ? 2 : 1));
}

int64_t vjpi_cuda_static_shared(const vjpi_cuda_plan *plan)
{
    return plan->nvalues * plan->compute_size * VJPI_CUDA_CLUSTER * VJPI_CUDA_WARPS;
}

int32_t vjpi_cuda_held_most(const vjpi_cuda_plan *plan)
{
    int64_t elements = VJPI_CUDA_VECTOR / plan->size[0], held = HELD_MOST;
    int64_t slots = plan->held_size * elements * VJPI_CUDA_THREADS;
    int64_t results = 2 * VJPI_CUDA_THREADS * elements * plan->compute_size; /* of columns */
    int64_t room = plan->limits.most_shared - vjpi_cuda_static_shared(plan) - results;
    while (held > 1 && slots * held > room)
        held /= 2;
    return (int32_t)held;
}

/* The smallest row kernel with which lanes of a warp can hold a row of that many vectors; -1: none.
 */
static int warp_size(const vjpi_cuda_plan *plan, int64_t slots, bool vectors)
{
    int64_t held = power(most(cut(slots, 32), least(slots, 2)));
    for (int log = log_of(held); log < VJPI_CUDA_HELD; log++)
        if (plan->kernels->row[vectors][log])
            return log;
    return slots <= 32 && plan->kernels->row[vectors][0] ? 0 : -1;
}

/* The same with a block. */
static int block_size(const vjpi_cuda_plan *plan, int64_t slots, bool vectors)
{
    int log = VJPI_CUDA_HELD - 2;
    return slots <= BLOCK_SLOTS && plan->kernels->row[vectors][log] ? log : -1;
}

/* Rows of up to a warp's 8 vectors per lane go to a warp or a part of one, longer ones to a block
 * of 4 vectors per thread, then to a cluster of blocks of 256 threads with what they can hold.
 * Single elements at the ends of a row need a thread each. */
static void shape_row(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                      bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t unit = vectors ? 1 : ones_of(stage);
    int64_t slots = cut(loop->x.n, vectors ? stage->elements : unit);
    int warp = warp_size(plan, slots, vectors), block = block_size(plan, slots, vectors);
    int64_t block_slots = (int64_t)plan->held_most * VJPI_CUDA_THREADS;
    bool whole = exact && loop->x.n % stage->elements == 0 && !plan->ends;
    int64_t singles = vectors && !whole ? 2 * stage->elements : 1;
    if (warp >= 0) {
        loop->lanes = (int32_t)least(power(most(cut(slots, 1 << warp), singles)), 32);
        loop->lanes_log = log_of(loop->lanes);
        launch->x = VJPI_CUDA_THREADS / 2;
        launch->blocks = cut(loop->rows, launch->x >> loop->lanes_log);
    } else if (block >= 0) {
        launch->x = (uint32_t)(32 * cut(slots, 32 << block));
        launch->blocks = loop->rows;
    } else {
        loop->held = (int32_t)(plan->held_most * unit);
        loop->cluster = (int32_t)power(cut(slots, block_slots));
        launch->x = (uint32_t)(32 * cut(slots, 32 * plan->held_most * loop->cluster));
        launch->blocks = loop->rows * loop->cluster;
        launch->shared = held_room(plan, launch, loop->held, vectors ? stage->elements : 1);
    }
    launch->kernel = warp >= 0    ? plan->kernels->row[vectors][warp]
                     : block >= 0 ? plan->kernels->row[vectors][block]
                                  : plan->kernels->longer[vectors];
    launch->cluster = (uint32_t)loop->cluster;
}

/* Where the axis is short, a block has more columns; where it is long, a cluster shares it. */
static void shape_column(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                         bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact), n = loop->y.n;
    int64_t unit = vectors ? 1 : ones_of(stage), elements = vectors ? stage->elements : 1;
    int64_t rows = (plan->limits.most_cluster > 1 ? COLUMN_ROWS : VJPI_CUDA_THREADS) / unit;
    int64_t held_most = plan->held_most * unit;
    rows = least(rows, power(cut(n, held_most)));
    launch->y = (uint32_t)rows;
    launch->x = (uint32_t)most(least(VJPI_CUDA_THREADS / rows, power(slots)), 32 / rows);
    loop->cluster = (int32_t)power(cut(n, rows * held_most));
    loop->held = (int32_t)cut(n, rows * loop->cluster);
    set_blocks(cut(slots, launch->x), 1, count_outer(loop, 0, loop->nouter) * loop->cluster,
               launch);
    launch->cluster = (uint32_t)loop->cluster;
    launch->kernel = plan->kernels->column[vectors];
    launch->shared = held_room(plan, launch, loop->held, elements) +
                     column_room(launch, elements, plan->compute_size, plan->nvalues);
}

bool vjpi_cuda_can_hold(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, int64_t n)
{
    int32_t cluster = plan->limits.most_cluster;
    int64_t long_slots = (int64_t)plan->held_most * VJPI_CUDA_THREADS * cluster;
    int64_t row_slots = block_size(plan, 1, false) >= 0 ? BLOCK_SLOTS : 0;
    if (stage->kind == VJPI_CUDA_ROW)
        return n <= most(row_slots, long_slots) * ones_of(stage);
    return n <= (cluster > 1 ? COLUMN_ROWS * cluster : VJPI_CUDA_THREADS) * plan->held_most;
}

/* One row per thread. */
static void shape_rows(const vjpi_cuda_plan *plan, const void *kernel, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    launch->kernel = kernel;
    launch->x = VJPI_CUDA_THREADS;
    loop->rows = plan->rows;
    loop->narrays = plan->narrays;
    loop->nvalues = plan->nvalues;
    loop->ends = plan->end_inputs;
    memcpy(loop->array_of, plan->array_of, sizeof(loop->array_of));
    launch->blocks = cut(plan->rows, VJPI_CUDA_THREADS);
}

/* ---- folds -------------------------------------------------------------------------------- */

/* Cut what is summed for each result into segments: enough of them to fill the GPU, each with at
 * least `worthwhile` pieces or rows. */
static void cut_segments(const vjpi_cuda_stage *stage, int64_t blocks, int64_t worthwhile,
                         vjpi_cuda_loop *loop)
{
    int64_t segments = least(most(ENOUGH_BLOCKS / blocks, 1), cut(loop->rows, worthwhile));
    segments = most(least(segments, stage->most_segments), 1);
    loop->per_segment = worthwhile * cut(cut(loop->rows, segments), worthwhile);
    loop->nsegments = cut(loop->rows, loop->per_segment);
}

static void shape_along(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                        bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    int64_t xblocks = cut(slots, 32 * VJPI_CUDA_PIECE_STEPS);
    loop->xblocks = (uint32_t)xblocks;
    loop->rows = xblocks * count_outer(loop, loop->nkept, loop->nouter);
    loop->nouts = count_outer(loop, 0, loop->nkept);
    loop->warps = loop->rows <= VJPI_CUDA_WARPS ? 1 : VJPI_CUDA_WARPS;
    loop->exact = exact && loop->x.n % stage->elements == 0;
    if (loop->warps == 1) {
        loop->per_segment = loop->rows;
        loop->nsegments = 1;
    } else {
        cut_segments(stage, loop->nouts, 2 * VJPI_CUDA_WARPS, loop);
    }
    launch->kernel = plan->kernels->along[stage->part][vectors];
    launch->x = VJPI_CUDA_THREADS;
    launch->blocks = cut(loop->nouts * loop->nsegments, VJPI_CUDA_WARPS / loop->warps);
}

static int64_t across_room(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                           const vjpi_cuda_launch *launch, int64_t elements)
{
    return (int64_t)(held_room(plan, launch, VJPI_CUDA_AHEAD, elements) +
                     column_room(launch, elements, plan->compute_size, stage->nsums));
}

static void shape_across(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                         bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    int64_t kept = count_outer(loop, 0, loop->nkept), xblocks;
    int64_t elements = vectors ? stage->elements : 1;
    launch->x = (uint32_t)least(power(slots), 32);
    launch->y = VJPI_CUDA_THREADS / launch->x;
    while (across_room(plan, stage, launch, elements) > plan->limits.most_shared &&
           launch->x * launch->y > 32)
        launch->y /= 2;
    xblocks = cut(slots, launch->x);
    loop->rows = count_outer(loop, loop->nkept, loop->nouter);
    loop->nouts = kept * loop->x.n;
    cut_segments(stage, kept * xblocks, (int64_t)launch->y * VJPI_CUDA_PIECE_STEPS, loop);
    launch->kernel = plan->kernels->across[stage->part][vectors];
    set_blocks(xblocks, 1, kept * loop->nsegments, launch);
    launch->shared = (size_t)across_room(plan, stage, launch, elements);
}

/* Threads that have n elements of a row that is summed. */
static int64_t summed_threads(const vjpi_cuda_plan *plan, int64_t n)
{
    return 32 * cut(n * plan->compute_size, 32 * VJPI_CUDA_SUMMED_SIZE);
}

/* What they have in shared memory: the inputs of a row, and each total with its rounding errors. */
static int64_t summed_room(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                           int64_t threads)
{
    int64_t elements = VJPI_CUDA_SUMMED_SIZE / plan->compute_size * threads;
    return elements * (plan->held_size + 2 * plan->compute_size * stage->nsums);
}

bool vjpi_cuda_can_sum(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, int64_t n)
{
    int64_t most_elements = VJPI_CUDA_ROW_THREADS * VJPI_CUDA_SUMMED_SIZE / plan->compute_size;
    int64_t room = plan->limits.most_shared - vjpi_cuda_static_shared(plan);
    return plan->kernels->summed[0] && n <= most_elements &&
           summed_room(plan, stage, summed_threads(plan, n)) <= room;
}

static void shape_summed(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                         vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t threads = summed_threads(plan, loop->x.n);
    cut_segments(stage, ENOUGH_BLOCKS / SUMMED_BLOCKS, SUMMED_ROWS, loop);
    loop->nouts = loop->x.n;
    launch->kernel = plan->kernels->summed[vectors];
    launch->x = (uint32_t)threads;
    launch->blocks = loop->nsegments;
    launch->shared = (size_t)summed_room(plan, stage, threads);
}

void vjpi_cuda_shape_join(const vjpi_cuda_plan *plan, const vjpi_cuda_launch *fold,
                          vjpi_cuda_launch *launch)
{
    *launch = *fold;
    launch->kernel = plan->set->join;
    launch->x = VJPI_CUDA_THREADS;
    launch->y = 1;
    launch->shared = 0;
    launch->blocks = fold->loop.nsegments == 1 ? 0 : cut(fold->loop.nouts, VJPI_CUDA_WARPS);
}

/* ---- any stage ---------------------------------------------------------------------------- */

static vjpi_cuda_axis axis_of(const vjpi_cuda_plan *plan, int8_t dim)
{
    return dim >= 0 ? plan->dims[dim] : (vjpi_cuda_axis){ .n = 1 };
}

/* The parameters that kernels of every kind get. */
static void begin_launch(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                         vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    *launch = (vjpi_cuda_launch){ .y = 1, .cluster = 1 };
    loop->call = plan->call;
    loop->cluster = 1;
    loop->x = axis_of(plan, stage->x);
    loop->y = axis_of(plan, stage->y);
    loop->nkept = stage->nkept;
    loop->nouter = stage->nouter;
    for (int8_t d = 0; d < stage->nouter; d++)
        loop->outer[d] = plan->dims[stage->outer[d]];
    loop->all_rows = plan->rows;
    loop->rows = count_outer(loop, 0, loop->nouter);
    loop->length = plan->length;
    loop->causal = plan->causal;
    loop->causal_shift = plan->causal_shift;
    loop->transposed = stage->transposed;
    loop->fixed = stage->fixed;
    loop->x_kept = stage->x_kept;
    loop->nsums = stage->nsums;
    loop->is_max = stage->is_max;
    memcpy(loop->target, stage->target, sizeof(loop->target));
}

void vjpi_cuda_shape(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                     bool exact, vjpi_cuda_launch *launch)
{
    begin_launch(plan, stage, launch);
    switch (stage->kind) {
    case VJPI_CUDA_MAP:
        shape_map(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_TRANSPOSED:
        shape_transposed(plan, vectors, launch);
        break;
    case VJPI_CUDA_ROW:
        shape_row(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_COLUMN:
        shape_column(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_SUMMED:
        shape_summed(plan, stage, vectors, launch);
        break;
    case VJPI_CUDA_ALONG:
        shape_along(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_ACROSS:
        shape_across(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_JOIN: /* sums of nothing: a join without segments */
        launch->loop.nouts = count_outer(&launch->loop, 0, launch->loop.nkept);
        vjpi_cuda_shape_join(plan, launch, launch);
        break;
    case VJPI_CUDA_GATHER:
        shape_rows(plan, plan->set->gather, launch);
        break;
    case VJPI_CUDA_PER_ROW:
        shape_rows(plan, plan->kernels->per_row, launch);
        break;
    }
}

/* Do all dense operands begin at the same place within a vector; at its start? */
static bool begin_alike(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                        char *const *data, bool *exact)
{
    uintptr_t first = 0;
    bool seen = false;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        if (!(stage->dense >> i & 1))
            continue;
        uintptr_t part = (uintptr_t)data[i] / (uintptr_t)plan->size[i] %
                         (uintptr_t)stage->elements;
        if (seen && part != first)
            return false;
        first = part;
        seen = true;
    }
    *exact = first == 0 && stage->aligned;
    return true;
}

bool vjpi_cuda_choose(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, char *const *data,
                      bool *exact)
{
    *exact = false;
    bool vectors = stage->vectors && begin_alike(plan, stage, data, exact);
    if (stage->kind == VJPI_CUDA_TRANSPOSED || stage->kind == VJPI_CUDA_COLUMN ||
        stage->kind == VJPI_CUDA_ACROSS || stage->kind == VJPI_CUDA_SUMMED)
        return vectors && *exact;
    return vectors;
}
