/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - from a canonical loop to stages: which dims are x, y and outer, which kernel. */
#include <string.h>

#include "cuda/stage.h"

#define NARROW 8               /* columns too few to be worth reading side by side */
#define FEW_BLOCKS 64          /* that cannot fill the GPU, */
#define MANY_ELEMENTS 1048576  /* where there is this much work */

static bool has_role(const vjpi_call *call, int32_t i, int role)
{
    return call->op->roles[i] == role && vjpi_has(call->facts, i);
}

/* Do kernels read input i where it is, in every pass, instead of holding it? */
static bool is_direct(const vjpi_call *call, int32_t i)
{
    const vjp_tensor_info *info = &call->op->tensors[i];
    return info->shape_rule == VJP_SHAPE_PARAM || info->dtype_rule == VJP_DTYPE_MASK;
}

/* ---- vectors ------------------------------------------------------------------------------ */

/* Does the axis move all dense operands by the same part of a vector; by whole vectors? */
static bool moves_alike(const vjpi_cuda_plan *plan, const vjpi_cuda_stage *stage, int8_t dim,
                        bool *whole)
{
    int64_t first = -1;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        if (!(stage->dense >> i & 1))
            continue;
        int64_t n = stage->elements, part = plan->dims[dim].step[i] / plan->size[i] % n;
        part = part < 0 ? part + n : part;
        if (first >= 0 && part != first)
            return false;
        first = part;
        *whole = *whole && part == 0;
    }
    return true;
}

/* The operands that a stage has an element of for each of its own. `writes`: FULL outputs too. */
static bool takes_part(const vjpi_call *call, int32_t i, bool writes)
{
    return has_role(call, i, VJPI_ELEMENTS) || (writes && has_role(call, i, VJPI_FULL));
}

/* Can operands be moved in vectors along x? The kernels handle inputs that are one element all
 * along x: any input of a map, else those that are not held. Columns come in whole vectors only. */
static void find_vectors(const vjpi_call *call, const vjpi_cuda_plan *plan, bool writes,
                         vjpi_cuda_stage *stage)
{
    bool columns = stage->kind == VJPI_CUDA_COLUMN || stage->kind == VJPI_CUDA_ACROSS ||
                   stage->kind == VJPI_CUDA_SUMMED;
    bool map = stage->kind == VJPI_CUDA_MAP;
    int64_t n = stage->x >= 0 ? plan->dims[stage->x].n : 1;
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    stage->vectors = true;
    stage->aligned = true;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        int64_t step = stage->x >= 0 ? plan->dims[stage->x].step[i] : 0;
        if (!takes_part(call, i, writes))
            continue;
        if (step == plan->size[i])
            stage->dense |= 1u << i;
        else if (step != 0 || call->op->roles[i] == VJPI_FULL || !(map || is_direct(call, i)))
            stage->vectors = false;
        else
            stage->repeats = true;
    }
    for (int8_t d = 0; d < stage->nouter && stage->vectors; d++)
        stage->vectors = moves_alike(plan, stage, stage->outer[d], &stage->aligned);
    if (stage->y >= 0 && stage->vectors)
        stage->vectors = moves_alike(plan, stage, stage->y, &stage->aligned);
    if (columns)
        stage->vectors = stage->vectors && stage->aligned && n % stage->elements == 0;
}

/* The same for a transposed map: all must begin, and move, by whole vectors of its own size, and so
 * must rows of the output end. */
static void find_tile_vectors(const vjpi_call *call, const vjpi_cuda_plan *plan,
                              vjpi_cuda_stage *stage)
{
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    stage->vectors = plan->dims[stage->x].n % stage->elements == 0;
    stage->aligned = true;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        bool transposed = stage->transposed >> i & 1;
        const vjpi_cuda_axis *run = &plan->dims[transposed ? stage->y : stage->x];
        const vjpi_cuda_axis *side = &plan->dims[transposed ? stage->x : stage->y];
        if (!takes_part(call, i, true))
            continue;
        int64_t vector = stage->elements * plan->size[i];
        bool moves = side->step[i] % vector == 0;
        for (int8_t d = 0; d < stage->nouter; d++)
            moves = moves && plan->dims[stage->outer[d]].step[i] % vector == 0;
        if (run->step[i] == plan->size[i])
            stage->dense |= 1u << i;
        else if (run->step[i] == 0 && call->op->roles[i] != VJPI_FULL)
            moves = true; /* a repeated element may be anywhere */
        else
            moves = false;
        stage->vectors = stage->vectors && moves;
    }
}

/* ---- which dim is what -------------------------------------------------------------------- */

/* All dims but x and y (-1: none) become outer axes; with a `set`, those that are not in it first,
 * and they are kept. */
static void set_axes(const vjpi_cuda_plan *plan, int32_t x, int32_t y, int set,
                     vjpi_cuda_stage *stage)
{
    stage->x = (int8_t)x;
    stage->y = (int8_t)y;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t d = 0; d < plan->ndim; d++) {
            bool in_set = (plan->reduced[d] & set) != 0;
            if (d != x && d != y && in_set == (pass == 1))
                stage->outer[stage->nouter++] = (int8_t)d;
        }
        if (pass == 0)
            stage->nkept = stage->nouter;
    }
}

static vjpi_cuda_stage *add_stage(vjpi_cuda_plan *plan, vjpi_cuda_kind kind)
{
    vjpi_cuda_stage *stage = &plan->stages[plan->nstages++];
    memset(stage, 0, sizeof(*stage));
    stage->kind = kind;
    return stage;
}

static bool is_along(const vjpi_cuda_plan *plan, int32_t operand, int32_t d)
{
    return d >= 0 && plan->dims[d].step[operand] == plan->size[operand];
}

/* May this input go through a transposed tile? Its elements must be those of the tile. */
static bool can_transpose(const vjpi_call *call, int32_t i)
{
    return has_role(call, i, VJPI_ELEMENTS) && call->tensors[i].dtype == call->dtype;
}

/* The dim along which some input is dense that is not dense along x; -1 if there is none. Too short
 * ones would leave most of a tile empty. */
static int32_t find_transposed(const vjpi_call *call, const vjpi_cuda_plan *plan, int32_t x)
{
    for (int32_t i = 0; i < call->op->info.ninputs && x >= 0 && plan->dims[x].n >= NARROW; i++) {
        if (!can_transpose(call, i) || is_along(plan, i, x) || plan->dims[x].step[i] == 0)
            continue;
        for (int32_t d = plan->ndim - 1; d >= 0; d--)
            if (d != x && is_along(plan, i, d) && plan->dims[d].n >= NARROW)
                return d;
    }
    return -1;
}

static void add_map(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    int32_t x = plan->ndim - 1, y = -1, transposed = 0;
    if (call->op->npasses == 1)
        y = find_transposed(call, plan, x);
    vjpi_cuda_stage *stage = add_stage(plan, y >= 0 ? VJPI_CUDA_TRANSPOSED : VJPI_CUDA_MAP);
    if (stage->kind == VJPI_CUDA_MAP) {
        set_axes(plan, x, x > 0 ? x - 1 : -1, 0, stage);
        find_vectors(call, plan, true, stage);
        return;
    }
    set_axes(plan, x, y, 0, stage);
    for (int32_t i = 0; i < call->op->info.ninputs && transposed < VJPI_CUDA_TILES; i++)
        if (can_transpose(call, i) && is_along(plan, i, y) && !is_along(plan, i, x)) {
            stage->transposed |= 1u << i;
            transposed++;
        }
    find_tile_vectors(call, plan, stage);
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
            int64_t size = launch.loop.nsegments * stage->nsums * launch.loop.nouts *
                           plan->compute_size;
            most = size > most ? size : most;
        }
    return most;
}

/* What the reductions of a pass go to: row values or, in the last pass, SUM outputs. */
static void set_targets(const vjpi_call *call, const vjpi_cuda_plan *plan, int32_t part,
                        vjpi_cuda_stage *stage)
{
    const vjpi_op *op = call->op;
    int32_t first = plan->narrays - plan->nvalues;
    stage->part = (uint8_t)part;
    if (part < op->npasses - 1) {
        for (int32_t p = 0; p < part; p++)
            first += VJPI_REDUCTIONS(op->passes[p]);
        stage->nsums = VJPI_REDUCTIONS(op->passes[part]);
        stage->is_max = VJPI_IS_MAX(op->passes[part]);
        for (int32_t i = 0; i < stage->nsums; i++)
            stage->target[i] = (uint8_t)(VJPI_MAX_TENSORS + first + i);
        return;
    }
    for (int32_t i = op->info.ninputs; i < call->ntensors; i++)
        if (op->roles[i] == VJPI_SUM)
            stage->target[stage->nsums++] =
                vjpi_has(call->facts, i) ? (uint8_t)i : (uint8_t)VJPI_CUDA_NO_TARGET;
}

/* The inputs that are the same for all that is summed for a result. */
static uint32_t find_fixed(const vjpi_call *call, const vjpi_cuda_plan *plan,
                           const vjpi_cuda_stage *stage)
{
    uint32_t fixed = 0;
    for (int32_t i = 0; i < call->op->info.ninputs; i++) {
        bool same = call->op->roles[i] == VJPI_ELEMENTS && is_direct(call, i);
        for (int8_t d = stage->nkept; d < stage->nouter; d++)
            same = same && plan->dims[stage->outer[d]].step[i] == 0;
        fixed |= (uint32_t)same << i;
    }
    return fixed;
}

/* How many segments of a sum the workspace has room for, where the dims of a set are summed. */
static int64_t count_segments(const vjpi_call *call, const vjpi_cuda_plan *plan, int set,
                              const vjpi_cuda_stage *stage)
{
    double sums_size = (double)stage->nsums * (double)plan->compute_size; /* may exceed 63 bits */
    for (int32_t d = 0; d < plan->ndim; d++)
        sums_size *= plan->reduced[d] & set ? 1 : (double)plan->dims[d].n;
    double room = vjpi_workspace_limit(call) - (double)(plan->arrays_size + 2 * plan->compute_size);
    return (int64_t)(room / sums_size);
}

/* Pass `part`, which reduces along the dims of a set. Returns the partial sums' bytes. */
static int64_t add_fold(const vjpi_call *call, int32_t part, int set, vjpi_cuda_plan *plan)
{
    int32_t x = plan->ndim - 1;
    bool reduced = x < 0 || plan->reduced[x] & set;
    vjpi_cuda_stage *stage = add_stage(plan, reduced ? VJPI_CUDA_ALONG : VJPI_CUDA_ACROSS);
    set_axes(plan, x, -1, set, stage);
    set_targets(call, plan, part, stage);
    stage->x_kept = !reduced;
    stage->fixed = find_fixed(call, plan, stage);
    find_vectors(call, plan, part == call->op->npasses - 1, stage);
    stage->most_segments = count_segments(call, plan, set, stage);
    return partials_size(plan, stage);
}

/* Nothing to read, but sums of nothing to write. SUM outputs have one shape. */
static void add_zero(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    vjpi_cuda_stage *stage = add_stage(plan, VJPI_CUDA_JOIN);
    int64_t count = 0;
    set_targets(call, plan, call->op->npasses - 1, stage);
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        const vjp_tensor *sum = &call->tensors[i];
        if (!has_role(call, i, VJPI_SUM))
            continue;
        count = vjpi_numel(sum);
        plan->ndim = sum->ndim;
        for (int32_t d = 0; d < sum->ndim; d++) {
            plan->dims[d].n = sum->shape[d];
            if (sum->shape[d] > 1 && count > 0) /* else the stride may be anything */
                plan->dims[d].step[i] = sum->strides[d] * plan->size[i];
        }
    }
    set_axes(plan, -1, -1, 0, stage);
    plan->nstages = count > 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* One launch that reads everything once, if the axis is one dim and short enough to hold. */
static bool add_row(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    int32_t axis = -1, naxes = 0, x = plan->ndim - 1;
    vjpi_cuda_launch launch;
    for (int32_t d = 0; d < plan->ndim; d++)
        if (plan->reduced[d] & VJPI_AXIS) {
            axis = d;
            naxes++;
        }
    bool columns = axis >= 0 && axis != x && plan->dims[x].n >= NARROW;
    vjpi_cuda_stage *stage = add_stage(plan, columns ? VJPI_CUDA_COLUMN : VJPI_CUDA_ROW);
    plan->nstages = 0;
    stage->elements = VJPI_CUDA_VECTOR / plan->size[0];
    if (naxes > 1 || !vjpi_cuda_can_hold(plan, stage, axis < 0 ? 1 : plan->dims[axis].n))
        return false;
    set_axes(plan, columns ? x : axis, columns ? axis : -1, 0, stage);
    find_vectors(call, plan, true, stage);
    vjpi_cuda_shape(plan, stage, stage->vectors, false, &launch);
    if (launch.blocks < FEW_BLOCKS && call->elements > MANY_ELEMENTS)
        return false;
    plan->nstages = 1;
    return true;
}

/* The axis, if it is one dim, the sums have its shape, and it is all that they have; -1. */
static int32_t find_summed_axis(const vjpi_cuda_plan *plan)
{
    int32_t axis = -1;
    for (int32_t d = 0; d < plan->ndim; d++) {
        bool is_axis = plan->reduced[d] & VJPI_AXIS, is_summed = plan->reduced[d] & VJPI_SUMMED;
        if (is_axis == is_summed || (is_axis && axis >= 0))
            return -1;
        axis = is_axis ? d : axis;
    }
    return axis;
}

/* One launch that reads everything once and sums across rows. Returns the partial sums' bytes; -1
 * if that cannot be. */
static int64_t add_summed(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    int32_t axis = find_summed_axis(plan);
    vjpi_cuda_stage *stage = add_stage(plan, VJPI_CUDA_SUMMED);
    vjpi_cuda_launch launch;
    plan->nstages = 0;
    set_targets(call, plan, call->op->npasses - 1, stage);
    if (axis < 0 || !vjpi_cuda_can_sum(plan, stage, plan->dims[axis].n))
        return -1;
    set_axes(plan, axis, -1, VJPI_SUMMED, stage);
    stage->x_kept = true;
    find_vectors(call, plan, true, stage);
    stage->most_segments = count_segments(call, plan, VJPI_SUMMED, stage);
    vjpi_cuda_shape(plan, stage, stage->vectors, false, &launch);
    if (launch.blocks < FEW_BLOCKS && call->elements > MANY_ELEMENTS)
        return -1;
    plan->nstages = 1;
    return partials_size(plan, stage);
}

/* The rows themselves: the dims that they do not run along. */
static void add_rows(vjpi_cuda_plan *plan, vjpi_cuda_kind kind)
{
    vjpi_cuda_stage *stage = add_stage(plan, kind);
    set_axes(plan, -1, -1, VJPI_AXIS, stage);
    stage->nouter = stage->nkept;
}

static bool wants_full(const vjpi_call *call)
{
    bool wants = false;
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++)
        wants = wants || has_role(call, i, VJPI_FULL);
    return wants;
}

/* Pass by pass, with arrays of all rows in the workspace: rows that cannot be held, few long ones,
 * an axis of several dims, or sums that run across rows as well as along them. Returns the partial
 * sums' bytes. */
static int64_t add_passes(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    int32_t last = call->op->npasses - 1;
    bool all_passes = call->passes == (1u << last) - 1;
    int64_t most = 0, size;
    plan->arrays_size = plan->narrays * plan->rows * plan->compute_size;
    if (plan->narrays > plan->nvalues || !all_passes || call->elements == 0)
        add_rows(plan, VJPI_CUDA_GATHER);
    for (int32_t p = 0; p < last && call->elements > 0; p++)
        if (call->passes >> p & 1) {
            size = add_fold(call, p, VJPI_AXIS, plan);
            most = size > most ? size : most;
        }
    if (call->per_row)
        add_rows(plan, VJPI_CUDA_PER_ROW);
    if (call->elements > 0 && call->sums) {
        size = add_fold(call, last, VJPI_SUMMED, plan);
        most = size > most ? size : most;
    } else if (call->elements > 0 && wants_full(call)) {
        add_map(call, plan);
    }
    return most;
}

/* ---- the call ----------------------------------------------------------------------------- */

/* The bytes that an element of input i takes where it is held: where its dtype may differ from the
 * data's, or the value of KEEP takes its place, kernels have room for the compute type. */
static int64_t held_size_of(const vjpi_call *call, int32_t i)
{
    vjp_dtype_rule rule = call->op->tensors[i].dtype_rule;
    int64_t own = (int64_t)vjp_dtype_size(call->dtype);
    bool mixed = rule == VJP_DTYPE_ANY || (rule == VJP_DTYPE_WIDE && own == 2);
    return mixed || vjpi_keeps(call) ? (int64_t)vjpi_compute_size(call->dtype) : own;
}

static void describe_tensors(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    const vjpi_op *op = call->op;
    plan->ntensors = call->ntensors;
    plan->compute_size = (int64_t)vjpi_compute_size(call->dtype);
    memset(plan->array_of, VJPI_CUDA_NO_TARGET, sizeof(plan->array_of));
    for (int32_t i = 0; i < call->ntensors; i++) {
        bool row_input = op->roles[i] == VJPI_ROW_INPUT || op->roles[i] == VJPI_ROW_END;
        plan->call.dtypes[i] = (uint8_t)call->tensors[i].dtype;
        if (vjpi_has(call->facts, i))
            plan->size[i] = (int64_t)vjp_dtype_size(call->tensors[i].dtype);
        if (i < op->info.ninputs && !vjpi_has(call->facts, i))
            plan->call.stand_ins[i] = op->stand_ins[i];
        if (row_input)
            plan->array_of[i] = (uint8_t)plan->narrays++;
        if (op->roles[i] == VJPI_ROW_END)
            plan->end_inputs |= 1u << i;
        if (op->roles[i] == VJPI_ELEMENTS && !is_direct(call, i))
            plan->held_size += (int32_t)held_size_of(call, i);
    }
    plan->nvalues = op->nvalues;
    plan->narrays += op->nvalues;
    plan->ends = call->end >= 0;
}

static void describe_call(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    plan->call.facts = call->facts;
    plan->call.passes = call->passes;
    vjpi_set_constants(call, plan->call.constants);
    plan->rows = call->rows;
    plan->length = call->length;
    plan->causal = call->causal_dim >= 0;
    if (plan->causal)
        plan->causal_shift = call->length - call->shape[call->causal_dim];
}

/* The plan's dims are those of the loop. Rows are counted in its order, and so are positions along
 * them. */
static void set_dims(const vjpi_loop *loop, int32_t causal, vjpi_cuda_plan *plan)
{
    int64_t row = 1, index = 1;
    plan->ndim = loop->ndim;
    if (plan->causal) /* a dim that is walked backwards counts down from its end */
        plan->causal_shift += loop->offset[causal];
    memcpy(plan->offset, loop->offset, sizeof(plan->offset));
    for (int32_t d = loop->ndim - 1; d >= 0; d--) {
        const vjpi_dim *dim = &loop->dims[d];
        bool along = dim->reduced & VJPI_AXIS;
        plan->reduced[d] = dim->reduced;
        plan->dims[d] = (vjpi_cuda_axis){ .n = dim->n, .row = along ? 0 : row,
                                          .index = along ? index : 0,
                                          .causal = plan->causal ? dim->step[causal] : 0 };
        memcpy(plan->dims[d].step, dim->step, sizeof(plan->dims[d].step));
        *(along ? &index : &row) *= dim->n;
    }
}

/* Without elements there may still be sums or rows. */
static void prepare_empty(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    vjpi_loop loop;
    if (call->sums) {
        add_zero(call, plan);
    } else if (call->rows > 0 && call->per_row) {
        vjpi_layout_rows(call, &loop);
        set_dims(&loop, call->ntensors + 1, plan);
        add_passes(call, plan);
    }
}

static int64_t prepare_elements(const vjpi_call *call, vjpi_cuda_plan *plan)
{
    vjpi_loop loop;
    vjpi_layout(call, false, &loop);
    set_dims(&loop, call->ntensors, plan);
    if (call->op->npasses > 1 && call->sums) {
        int64_t partials = add_summed(call, plan);
        return partials >= 0 ? partials : add_passes(call, plan);
    }
    if (call->op->npasses > 1)
        return add_row(call, plan) ? 0 : add_passes(call, plan);
    if (call->sums)
        return add_fold(call, 0, VJPI_SUMMED, plan);
    add_map(call, plan);
    return 0;
}

void vjpi_cuda_prepare(const vjpi_call *call, vjpi_cuda_plan *plan, size_t *workspace_size)
{
    int64_t partials = 0;
    describe_tensors(call, plan);
    describe_call(call, plan);
    plan->dtype = call->dtype;
    plan->ninputs = call->op->info.ninputs;
    plan->held_most = vjpi_cuda_held_most(plan);
    if (call->elements == 0)
        prepare_empty(call, plan);
    else
        partials = prepare_elements(call, plan);
    /* The workspace may begin anywhere: room to align it. */
    int64_t size = plan->arrays_size + partials;
    *workspace_size = size > 0 ? (size_t)(size + plan->compute_size - 1) : 0;
}
