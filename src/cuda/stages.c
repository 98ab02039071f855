/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - from a canonical loop to stages: which dims are x, y and outer, which kernel. */
#include <string.h>

#include "cuda/stage.h"

#define NARROW 8               /* columns too few to be worth reading side by side */
#define FEW_BLOCKS 64          /* that cannot fill the GPU, */
#define MANY_ELEMENTS 1048576  /* where there is so much to do */

static vjpi_cuda_axis axis_of(const vjpi_dim *dim)
{
    vjpi_cuda_axis axis = { .n = dim->n };
    memcpy(axis.step, dim->step, sizeof(axis.step));
    return axis;
}

/* ---- vectors ------------------------------------------------------------------------------ */

/* Does the axis move all dense operands by the same part of a vector; by whole vectors? */
static bool moves_alike(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage,
                        const vjpi_cuda_axis *axis, bool *whole)
{
    int64_t first = -1;
    for (int32_t i = 0; i < plan->noperands; i++) {
        if (!(stage->dense >> i & 1))
            continue;
        int64_t n = stage->elements, part = axis->step[i] / plan->size[i] % n;
        part = part < 0 ? part + n : part;
        if (first >= 0 && part != first)
            return false;
        first = part;
        *whole = *whole && part == 0;
    }
    return true;
}

/* Can operands 0 .. ntile - 1 be moved in vectors along x? The kernels know of operands that are
 * one element all along x: any input of a map, else those in `repeated`. Columns come in whole
 * vectors only. */
static void find_vectors(const vjpi_cuda_plan *plan, int32_t ntile, int32_t output,
                         uint32_t repeated, vjpi_cuda_stage *stage)
{
    const vjpi_cuda_loop *loop = &stage->loop;
    bool columns = stage->kind == VJPI_CUDA_COLUMN || stage->kind == VJPI_CUDA_ACROSS;
    bool map = stage->kind == VJPI_CUDA_MAP;
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    stage->vectors = true;
    stage->aligned = true;
    for (int32_t i = 0; i < ntile; i++) {
        if (loop->x.step[i] == plan->size[i])
            stage->dense |= 1u << i;
        else if (loop->x.step[i] != 0 || i == output || !(map || (repeated >> i & 1)))
            stage->vectors = false;
        else
            stage->repeats = true;
    }
    for (int32_t d = 0; d < loop->nouter && stage->vectors; d++)
        stage->vectors = moves_alike(plan, stage, &loop->outer[d], &stage->aligned);
    if (loop->y.n > 1 && stage->vectors)
        stage->vectors = moves_alike(plan, stage, &loop->y, &stage->aligned);
    if (columns)
        stage->vectors = stage->vectors && stage->aligned && loop->x.n % stage->elements == 0;
}

/* The same for a turned map: all must begin, and move, by whole vectors of its own size. */
static void find_tile_vectors(const vjpi_cuda_plan *plan, int32_t ntile, int32_t output,
                              vjpi_cuda_stage *stage)
{
    const vjpi_cuda_loop *loop = &stage->loop;
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    stage->vectors = stage->aligned = true;
    for (int32_t i = 0; i < ntile; i++) {
        const vjpi_cuda_axis *run = loop->turned >> i & 1 ? &loop->y : &loop->x;
        const vjpi_cuda_axis *side = loop->turned >> i & 1 ? &loop->x : &loop->y;
        bool moves = side->step[i] % (stage->elements * plan->size[i]) == 0;
        for (int32_t d = 0; d < loop->nouter; d++)
            moves = moves && loop->outer[d].step[i] % (stage->elements * plan->size[i]) == 0;
        if (run->step[i] == plan->size[i])
            stage->dense |= 1u << i;
        else if (run->step[i] == 0 && i != output)
            moves = true; /* a repeated element may lie anywhere */
        else
            moves = false;
        stage->vectors = stage->vectors && moves;
    }
}

/* ---- which dim is what -------------------------------------------------------------------- */

/* All dims but x and y (-1: none) become outer axes, those not reduced first if `sorted`. */
static void set_outer(const vjpi_loop *from, int32_t x, int32_t y, bool sorted,
                      vjpi_cuda_loop *loop)
{
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t d = 0; d < from->ndim; d++)
            if (d != x && d != y && (sorted ? from->dims[d].reduced == pass : pass == 0))
                loop->outer[loop->nouter++] = axis_of(&from->dims[d]);
        if (pass == 0)
            loop->nkept = loop->nouter;
    }
}

static void set_axes(const vjpi_loop *from, int32_t x, int32_t y, bool sorted,
                     vjpi_cuda_loop *loop)
{
    loop->x.n = loop->y.n = 1;
    if (x >= 0)
        loop->x = axis_of(&from->dims[x]);
    if (y >= 0)
        loop->y = axis_of(&from->dims[y]);
    set_outer(from, x, y, sorted, loop);
}

static bool lies_along(const vjpi_loop *loop, int32_t operand, int32_t d)
{
    return d >= 0 && loop->dims[d].step[operand] == loop->size[operand];
}

/* The dim along which some input lies that does not lie along x; -1 if there is none. Too short
 * ones would leave most of a tile empty. */
static int32_t find_turned(const vjpi_loop *loop, int32_t ninputs, int32_t x)
{
    for (int32_t i = 0; i < ninputs && x >= 0 && loop->dims[x].n >= NARROW; i++) {
        if (lies_along(loop, i, x) || loop->dims[x].step[i] == 0)
            continue;
        for (int32_t d = loop->ndim - 1; d >= 0; d--)
            if (d != x && lies_along(loop, i, d) && loop->dims[d].n >= NARROW)
                return d;
    }
    return -1;
}

static void add_map(const vjpi_call *call, const vjpi_loop *from, int32_t ntile,
                    vjpi_cuda_plan *plan)
{
    vjpi_cuda_stage *stage = &plan->stages[plan->nstages++];
    int32_t ninputs = call->op->info.ninputs, x = from->ndim - 1;
    int32_t y = find_turned(from, ninputs, x), turned = 0;
    stage->kind = y >= 0 ? VJPI_CUDA_TURNED : VJPI_CUDA_MAP;
    set_axes(from, x, y >= 0 ? y : x - 1, false, &stage->loop);
    if (stage->kind == VJPI_CUDA_MAP) {
        find_vectors(plan, ntile, ninputs, 0, stage);
        return;
    }
    for (int32_t i = 0; i < ninputs && turned < 2; i++)
        if (lies_along(from, i, y) && !lies_along(from, i, x)) {
            stage->loop.turned |= 1u << i;
            turned++;
        }
    find_tile_vectors(plan, ntile, ninputs, stage);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* The bytes of a fold's partial sums, with vectors and without: the more of both. */
static int64_t partials_size(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage)
{
    int64_t most = 0;
    for (int vectors = 0; vectors <= stage->vectors; vectors++)
        for (int exact = 0; exact <= vectors; exact++) {
            vjpi_cuda_launch launch;
            vjpi_cuda_shape(plan, stage, vectors, exact, &launch);
            if (launch.loop.nsegments == 1)
                continue; /* it stores its sums itself */
            int64_t size = launch.loop.nsegments * plan->nsums * launch.loop.nouts *
                           plan->compute_size;
            most = size > most ? size : most;
        }
    return most;
}

/* ntile: operands that are read or written for each element. Returns the partial sums' bytes. */
static int64_t add_fold(const vjpi_call *call, const vjpi_loop *from, int32_t ntile,
                        vjpi_cuda_plan *plan)
{
    vjpi_cuda_stage *stage = &plan->stages[plan->nstages++];
    int32_t x = from->ndim - 1;
    bool reduced = x < 0 || from->dims[x].reduced;
    uint32_t repeated = 0;
    stage->kind = reduced ? VJPI_CUDA_ALONG : VJPI_CUDA_ACROSS;
    set_axes(from, x, -1, true, &stage->loop);
    stage->loop.x_kept = !reduced;
    for (int32_t i = 0; i < call->op->info.ninputs && reduced; i++)
        if (call->op->tensors[i].shape_rule == VJP_SHAPE_SLOPE)
            repeated |= 1u << i; /* it has the sums' shape, and the sums run along x */
    find_vectors(plan, ntile, ntile > call->op->info.ninputs ? call->op->info.ninputs : -1,
                 repeated, stage);
    double sums_size = (double)plan->nsums * (double)plan->compute_size; /* may pass 63 bits */
    for (int32_t d = 0; d < from->ndim; d++)
        sums_size *= from->dims[d].reduced ? 1 : (double)from->dims[d].n;
    double room = vjpi_workspace_limit(call) -
                  (double)(plan->rowsums_size + 2 * plan->compute_size);
    stage->most_segments = (int64_t)(room / sums_size);
    return partials_size(plan, stage);
}

/* Nothing to read, but sums of nothing to write. */
static void add_zero(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    const vjp_tensor *sum = &call->tensors[call->op->info.ninputs + call->op->nfull];
    vjpi_cuda_stage *stage = &plan->stages[0];
    vjpi_cuda_loop *loop = &stage->loop;
    stage->kind = VJPI_CUDA_JOIN;
    loop->nouts = vjpi_numel(sum);
    loop->nkept = loop->nouter = sum->ndim;
    for (int32_t d = 0; d < sum->ndim; d++) {
        loop->outer[d].n = sum->shape[d];
        for (int32_t i = call->op->info.ninputs + call->op->nfull; i < call->ntensors; i++)
            if (sum->shape[d] > 1 && loop->nouts > 0) /* else the stride may be anything */
                loop->outer[d].step[i] = call->tensors[i].strides[d] * plan->size[i];
    }
    plan->nstages = loop->nouts > 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* One launch that reads everything once, if the axis is short enough to hold. */
static bool add_row(const vjpi_call *call, const vjpi_loop *from, int32_t ntile,
                    vjpi_cuda_plan *plan)
{
    vjpi_cuda_stage *stage = &plan->stages[0];
    int32_t axis = from->ndim - 1, x = from->ndim - 1;
    vjpi_cuda_launch launch;
    while (axis >= 0 && !from->dims[axis].reduced)
        axis--;
    bool columns = axis >= 0 && axis != x && from->dims[x].n >= NARROW;
    stage->kind = columns ? VJPI_CUDA_COLUMN : VJPI_CUDA_ROW;
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    if (!vjpi_cuda_can_hold(stage, plan->most_cluster, axis < 0 ? 1 : from->dims[axis].n))
        return false;
    set_axes(from, columns ? x : axis, columns ? axis : -1, false, &stage->loop);
    stage->loop.rows = 1;
    for (int32_t d = 0; d < stage->loop.nouter; d++)
        stage->loop.rows *= stage->loop.outer[d].n;
    find_vectors(plan, ntile, call->op->info.ninputs, 0, stage);
    vjpi_cuda_shape(plan, stage, stage->vectors, false, &launch);
    if (launch.blocks < FEW_BLOCKS && vjpi_numel(&call->tensors[0]) > MANY_ELEMENTS)
        return false;
    plan->nstages = 1;
    return true;
}

/* The sums first, then the outputs. Returns the partial sums' bytes. */
static int64_t add_fold_and_map(const vjpi_call *call, int32_t ntile, vjpi_cuda_plan *plan)
{
    vjpi_loop loop;
    memset(plan->stages, 0, sizeof(plan->stages));
    plan->rowsums_size = plan->compute_size;
    for (int32_t d = 0; d < call->ndim; d++)
        plan->rowsums_size *= call->reduced[d] ? 1 : call->shape[d];
    vjpi_layout(call, plan->compute_size, &loop);
    memcpy(plan->offset, loop.offset, sizeof(plan->offset));
    int64_t partials = add_fold(call, &loop, call->op->info.ninputs, plan);
    add_map(call, &loop, ntile + 1, plan);
    return partials;
}

/* ---- the call ----------------------------------------------------------------------------- */

static int64_t compute_size_of(vjp_dtype dtype)
{
    enum {
#define DTYPE(name, suffix, size, compute) SIZE_##name = size,
#include "dtypes.def"
    };
    switch (dtype) {
#define DTYPE(name, suffix, size, compute) case VJP_##suffix: return SIZE_##compute;
#include "dtypes.def"
    }
    return 0;
}

void vjpi_cuda_prepare(const vjpi_call *call, vjpi_cuda_plan *plan, size_t *workspace_size)
{
    const vjpi_op *op = call->op;
    int32_t ntile = op->info.ninputs + op->nfull;
    int64_t partials = 0, elements = vjpi_numel(&call->tensors[0]);
    vjpi_loop loop;
    plan->ntensors = call->ntensors;
    plan->noperands = call->ntensors + (op->kind == VJPI_ROW);
    plan->compute_size = compute_size_of(call->dtype);
    plan->nsums = op->kind == VJPI_ROW ? 1 : call->ntensors - ntile;
    for (int32_t i = 0; i < call->ntensors; i++)
        plan->size[i] = (int64_t)vjp_dtype_size(call->tensors[i].dtype);
    for (int32_t i = 0; i < op->info.ninputs; i++) /* inputs of the sums' shape need not be */
        if (op->tensors[i].shape_rule == VJP_SHAPE_DATA)
            plan->held_size += (int32_t)plan->size[i];
    plan->size[call->ntensors] = plan->compute_size;
    if (elements == 0) {
        if (op->kind == VJPI_FOLD)
            add_zero(call, plan);
        *workspace_size = 0;
        return;
    }
    vjpi_layout(call, 0, &loop);
    memcpy(plan->offset, loop.offset, sizeof(plan->offset));
    if (op->kind == VJPI_MAP)
        add_map(call, &loop, ntile, plan);
    else if (op->kind == VJPI_FOLD)
        partials = add_fold(call, &loop, ntile, plan);
    else if (!add_row(call, &loop, ntile, plan))
        partials = add_fold_and_map(call, ntile, plan);
    for (int32_t s = 0; s < plan->nstages; s++)
        memcpy(plan->stages[s].loop.constants, call->constants, sizeof(call->constants));
    /* The workspace may begin anywhere: room to align it. */
    int64_t size = plan->rowsums_size + partials;
    *workspace_size = size > 0 ? (size_t)(size + plan->compute_size - 1) : 0;
}
