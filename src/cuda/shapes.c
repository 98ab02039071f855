/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - how large blocks and grids are. Depends on shapes, strides and dtypes, and on whether
 * the addresses allow vectors: so does the order in which a sum is made. */
#include "cuda/stage.h"

#define FEW_BLOCKS 2048   /* enough to fill any GPU: folds are cut into so many */
#define COLUMN_LANES 8    /* vectors side by side in a block of columns: 128 bytes */
#define COLUMN_ROWS 32    /* threads below each other there */
#define HELD_MOST (1 << (VJPI_CUDA_HELD - 1)) /* vectors that a thread holds at most */

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

static void shape_map(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                      bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    launch->kernel = plan->kernels->map[vectors];
    launch->x = (uint32_t)least(power(cut(slots, VJPI_CUDA_MAP_STEPS)), VJPI_CUDA_THREADS);
    launch->y = (uint32_t)least(power(loop->y.n), VJPI_CUDA_THREADS / launch->x);
    loop->xblocks = (uint32_t)cut(slots, (int64_t)launch->x * VJPI_CUDA_MAP_STEPS);
    loop->yblocks = (uint32_t)cut(loop->y.n, launch->y);
    launch->blocks = loop->xblocks * (int64_t)loop->yblocks * count_outer(loop, 0, loop->nouter);
}

static void shape_turned(const vjpi_cuda_plan *plan, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t side = plan->size[0] > 4 ? VJPI_CUDA_TILE / 2 : VJPI_CUDA_TILE;
    launch->kernel = plan->kernels->turned;
    launch->x = VJPI_CUDA_THREADS;
    loop->xblocks = (uint32_t)cut(loop->x.n, side);
    loop->yblocks = (uint32_t)cut(loop->y.n, side);
    launch->blocks = loop->xblocks * (int64_t)loop->yblocks * count_outer(loop, 0, loop->nouter);
}

/* Rows of up to a warp's 8 vectors a lane go to a warp or a part of one, longer ones to a block of
 * 4 vectors a thread, then to a cluster of blocks of 256 threads with 8 vectors each. */
static void shape_row(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                      bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact), held;
    if (!vectors)
        slots = cut(slots, VJPI_CUDA_HELD_ONES); /* a thread holds as many times more */
    loop->cluster = 1;
    loop->lanes = 0;
    loop->exact = vectors && exact && loop->x.n % stage->elements == 0;
    if (slots <= 32 * HELD_MOST) {
        held = power(cut(slots, 32));
        loop->lanes = (int32_t)least(power(slots), 32);
        launch->x = VJPI_CUDA_THREADS / 2;
        launch->blocks = cut(loop->rows, launch->x / loop->lanes);
    } else {
        held = slots <= VJPI_CUDA_ROW_THREADS * HELD_MOST / 2 ? HELD_MOST / 2 : HELD_MOST;
        if (held == HELD_MOST && plan->most_cluster > 1)
            loop->cluster = (int32_t)least(power(cut(slots, VJPI_CUDA_THREADS * held)),
                                           plan->most_cluster);
        launch->x = (uint32_t)(32 * cut(slots, 32 * held * loop->cluster));
        launch->blocks = loop->rows * loop->cluster;
    }
    launch->kernel = plan->kernels->row[vectors][log_of(held)];
    launch->cluster = (uint32_t)loop->cluster;
}

static void shape_column(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                         bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    int64_t unit = vectors ? 1 : VJPI_CUDA_HELD_ONES, lanes = COLUMN_LANES * unit;
    int64_t rows = COLUMN_ROWS / unit, held = least(power(cut(loop->y.n, rows * unit)), HELD_MOST);
    loop->cluster = 1;
    if (loop->y.n > rows * unit * held && plan->most_cluster > 1) {
        loop->cluster = (int32_t)least(power(cut(loop->y.n, rows * unit * held)),
                                       plan->most_cluster);
    } else {
        rows = power(cut(loop->y.n, unit * held));
        lanes = most(least(lanes, VJPI_CUDA_ROW_THREADS / rows), 1);
    }
    lanes = least(lanes, power(slots));
    if (loop->cluster == 1) /* short axes: more columns */
        lanes = most(lanes, least(power(slots), VJPI_CUDA_THREADS / rows));
    launch->x = (uint32_t)lanes;
    launch->y = (uint32_t)rows;
    loop->xblocks = (uint32_t)cut(slots, lanes);
    launch->blocks = count_outer(loop, 0, loop->nouter) * loop->xblocks * loop->cluster;
    launch->cluster = (uint32_t)loop->cluster;
    launch->kernel = plan->kernels->column[vectors][log_of(held)];
    launch->shared = (size_t)((rows + loop->cluster) * lanes *
                              (vectors ? stage->elements : 1) * plan->compute_size);
}

bool vjpi_cuda_can_hold(vjpi_cuda_kind kind, int32_t most_cluster, int64_t n)
{
    int64_t ones = HELD_MOST * VJPI_CUDA_HELD_ONES; /* a thread's, if vectors are not possible */
    if (kind == VJPI_CUDA_ROW)
        return n <= VJPI_CUDA_ROW_THREADS * ones * most_cluster;
    return n <= (most_cluster > 1 ? COLUMN_ROWS / VJPI_CUDA_HELD_ONES * most_cluster
                                  : VJPI_CUDA_ROW_THREADS / VJPI_CUDA_HELD_ONES / 2) * ones;
}

/* Cut what is summed for each result into segments: enough of them to fill the GPU, each with at
 * least `worthwhile` pieces or rows. */
static void cut_segments(const vjpi_cuda_stage *stage, int64_t blocks, int64_t worthwhile,
                         vjpi_cuda_loop *loop)
{
    int64_t segments = least(most(FEW_BLOCKS / blocks, 1), cut(loop->rows, worthwhile));
    segments = most(least(segments, stage->most_segments), 1);
    loop->per_segment = worthwhile * cut(cut(loop->rows, segments), worthwhile);
    loop->nsegments = cut(loop->rows, loop->per_segment);
}

static void shape_along(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                        bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    loop->xblocks = (uint32_t)cut(slots, 32 * VJPI_CUDA_PIECE_STEPS);
    loop->rows = loop->xblocks * count_outer(loop, loop->nkept, loop->nouter);
    loop->nouts = count_outer(loop, 0, loop->nkept);
    loop->warps = loop->rows <= VJPI_CUDA_WARPS ? 1 : VJPI_CUDA_WARPS;
    if (loop->warps == 1) {
        loop->per_segment = loop->rows;
        loop->nsegments = 1;
    } else {
        cut_segments(stage, loop->nouts, 2 * VJPI_CUDA_WARPS, loop);
    }
    launch->kernel = plan->kernels->along[vectors];
    launch->x = VJPI_CUDA_THREADS;
    launch->blocks = cut(loop->nouts * loop->nsegments, VJPI_CUDA_WARPS / loop->warps);
}

static void shape_across(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                         bool exact, vjpi_cuda_launch *launch)
{
    vjpi_cuda_loop *loop = &launch->loop;
    int64_t slots = slots_of(stage, loop->x.n, vectors, exact);
    int64_t kept = count_outer(loop, 0, loop->nkept);
    launch->x = (uint32_t)least(power(slots), 32);
    launch->y = VJPI_CUDA_THREADS / launch->x;
    loop->xblocks = (uint32_t)cut(slots, launch->x);
    loop->rows = count_outer(loop, loop->nkept, loop->nouter);
    loop->nouts = kept * loop->x.n;
    cut_segments(stage, kept * loop->xblocks, launch->y * VJPI_CUDA_PIECE_STEPS, loop);
    launch->kernel = plan->kernels->across[vectors];
    launch->blocks = kept * loop->xblocks * loop->nsegments;
    launch->shared = (size_t)(VJPI_CUDA_THREADS * (vectors ? stage->elements : 1) *
                              plan->compute_size);
}

void vjpi_cuda_shape_join(const vjpi_cuda_plan *plan, const vjpi_cuda_launch *fold,
                          vjpi_cuda_launch *launch)
{
    *launch = *fold;
    launch->kernel = plan->kernels->join;
    launch->x = VJPI_CUDA_THREADS;
    launch->y = 1;
    launch->shared = 0;
    launch->blocks = fold->loop.nsegments == 1 ? 0 : cut(fold->loop.nouts, VJPI_CUDA_WARPS);
}

void vjpi_cuda_shape(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, bool vectors,
                     bool exact, vjpi_cuda_launch *launch)
{
    *launch = (vjpi_cuda_launch){ .y = 1, .cluster = 1, .loop = stage->loop };
    switch (stage->kind) {
    case VJPI_CUDA_MAP:
        shape_map(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_TURNED:
        shape_turned(plan, launch);
        break;
    case VJPI_CUDA_ROW:
        shape_row(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_COLUMN:
        shape_column(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_ALONG:
        shape_along(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_ACROSS:
        shape_across(plan, stage, vectors, exact, launch);
        break;
    case VJPI_CUDA_JOIN: /* sums of nothing: a join without segments */
        vjpi_cuda_shape_join(plan, launch, launch);
        break;
    }
}
