/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - turn a call into stages. How it is split depends only on its shapes, strides and
 * dtypes, and so do the bits of its sums. */
#include <string.h>

#include "cpu/stage.h"

#define TASK_COST (4.0 * VJPI_GRAIN) /* less than two tasks' work stays on the calling thread */
#define HEAVY_COST 8         /* of a long formula, for each byte of the compute type */
#define ROW_COST 16          /* of a row's operands */
#define FEW_UNITS 32         /* with fewer, sums are split into segments for threads to share */
#define SPLIT_ELEMENTS (1 << 20) /* with fewer, few rows are not done pass by pass */
#define FEW_ROWS 8
#define LEAST_WIDTH 64       /* columns of a unit that is made smaller for the sake of more tasks */
#define ENOUGH_TASKS 16 /* with fewer, a row is not kept for the sake of the workspace's size */
#define WIDEST 65536         /* bytes of a row of sums in the workspace */
#define WIDEST_ROW 262144    /* the same where the columns of whole rows are summed */
#define WIDE_TASKS 16        /* the most tasks whose buffers are there */

/* ---- stages ------------------------------------------------------------------------------- */

/* The work of some passes over the data, in bytes that a core could move to or from its cache
 * instead: those that they do move, and more for a long formula. */
static double cost_of(const vjpi_call *call, int32_t passes)
{
    int64_t bytes = 0, heavy = HEAVY_COST * (int64_t)vjpi_compute_size(call->dtype);
    for (int32_t i = 0; i < call->ntensors; i++)
        if (vjpi_has(call->facts, i) &&
            (call->op->roles[i] == VJPI_ELEMENTS || call->op->roles[i] == VJPI_FULL))
            bytes += (int64_t)vjp_dtype_size(call->tensors[i].dtype);
    return (double)call->elements * (double)(bytes * passes + (call->op->is_heavy ? heavy : 0));
}

static double whole_cost(const vjpi_call *call)
{
    return cost_of(call, 1 + __builtin_popcount(call->passes));
}

/* The same for the operands of all rows. */
static double rows_cost(const vjpi_call *call)
{
    return (double)call->rows * ROW_COST;
}

/* How many tasks to make of units with this much work in total. */
static int64_t task_count(int64_t nunits, double cost)
{
    double wanted = cost / TASK_COST;
    int64_t tasks = wanted < VJPI_MAX_TASKS ? (int64_t)wanted : VJPI_MAX_TASKS;
    tasks = tasks < nunits ? tasks : nunits;
    return tasks < 2 ? 1 : tasks;
}

static vjpi_stage *add_stage(vjpi_cpu_plan *plan, vjpi_stage_run *run, int32_t nest, int64_t nunits,
                             double cost)
{
    vjpi_stage *stage = &plan->stages[plan->nstages++];
    stage->run = run;
    stage->nest = nest;
    stage->nunits = nunits;
    stage->ntasks = task_count(nunits, cost);
    return stage;
}

static void add_map(vjpi_cpu_plan *plan, int32_t nest, vjpi_tile_operands operands, double cost)
{
    add_stage(plan, vjpi_map_units, nest, plan->nests[nest].nunits, cost)->operands = operands;
}

/* Levels of a tree for this many rows of sums. */
static int32_t levels_for(int64_t rows)
{
    int32_t levels = 1;
    while (rows > VJPI_SUM_RADIX && levels < VJPI_SUM_LEVELS) {
        rows = (rows + VJPI_SUM_RADIX - 1) / VJPI_SUM_RADIX;
        levels++;
    }
    return levels;
}

/* Bytes of the widest row of sums that keeps the workspace within its limit: the more columns are
 * summed side by side, the longer the runs of memory that are read. */
static int64_t widest_sums(const vjpi_call *call, const vjpi_nest *narrow)
{
    int64_t size = WIDEST, rows = levels_for(narrow->nsteps) + 1;
    double limit = vjpi_workspace_limit(call);
    if (narrow->sums_inner || narrow->packed)
        return VJPI_SUMS_SIZE;
    /* each task's buffer, and a row for each of up to twice as many segments */
    while (size > VJPI_SUMS_SIZE && (double)(WIDE_TASKS * (rows + 2) * size + 64) > limit)
        size /= 2;
    return size;
}

/* A stage that computes sums: where its tasks keep them, and the row arrays. */
static vjpi_stage *add_sums(vjpi_cpu_plan *plan, vjpi_stage_run *run, int32_t nest_index,
                            vjpi_fold fold, int64_t nunits, double cost)
{
    const vjpi_nest *nest = &plan->nests[nest_index];
    vjpi_stage *stage = add_stage(plan, run, nest_index, nunits, cost);
    int64_t compute = (int64_t)plan->set->compute_size;
    fold.width = nest->sums_inner ? nest->row.block : nest->inner.block;
    fold.levels = VJPI_SUM_LEVELS;
    int64_t row = fold.width * fold.nsums * compute;
    if (row > VJPI_SUMS_SIZE) {
        fold.levels = levels_for(nest->nsteps);
        stage->room_size = (fold.levels + 1) * row;
        stage->ntasks = stage->ntasks < WIDE_TASKS ? stage->ntasks : WIDE_TASKS;
    }
    stage->fold = fold;
    return stage;
}

/* Make room in the stage's buffer for arrays of this many rows. */
static void add_arrays(vjpi_cpu_plan *plan, vjpi_stage *stage, int64_t capacity)
{
    stage->capacity = capacity;
    if (stage->room_size > 0)
        stage->room_size += plan->row_arrays * capacity * (int64_t)plan->set->compute_size;
}

/* The number of segments of a fold: a few units could not be shared among threads. */
static int64_t segments_of(const vjpi_nest *nest, int64_t elements)
{
    if (nest->nunits >= FEW_UNITS || elements < 2 * VJPI_GRAIN)
        return 1;
    int64_t segments = FEW_UNITS / nest->nunits, most = elements / VJPI_GRAIN;
    segments = segments < most ? segments : most;
    return segments < nest->nsteps ? segments : nest->nsteps;
}

/* A fold over a nest: units x segments and, if there are several segments, their sum. */
static void add_fold(vjpi_cpu_plan *plan, vjpi_stage_run *run, int32_t nest_index, vjpi_fold fold,
                     vjpi_tile_operands operands, double cost, int64_t capacity)
{
    const vjpi_nest *nest = &plan->nests[nest_index];
    vjpi_stage *stage =
        add_sums(plan, run, nest_index, fold, nest->nunits * fold.nsegments, cost);
    stage->operands = operands;
    add_arrays(plan, stage, capacity);
    if (fold.nsegments > 1) {
        int64_t width = stage->fold.width;
        add_sums(plan, vjpi_join_segments, nest_index, fold, nest->nunits,
                 (double)(nest->nunits * width) * ROW_COST);
        int64_t size = fold.nsegments * nest->nunits * width * fold.nsums *
                       (int64_t)plan->set->compute_size;
        plan->segments_size = size > plan->segments_size ? size : plan->segments_size;
    }
}

/* ---- operands ----------------------------------------------------------------------------- */

static uint32_t with_role(const vjpi_op *op, int role)
{
    uint32_t operands = 0;
    for (int32_t i = 0; i < op->info.ninputs + op->info.noutputs; i++)
        if (op->roles[i] == role)
            operands |= 1u << i;
    return operands;
}

/* The tensors that have one element per element of a tile. Plain kernels do not read a mask. */
static vjpi_tile_operands tile_operands(const vjpi_call *call)
{
    const vjpi_op *op = call->op;
    uint32_t outputs = with_role(op, VJPI_FULL), inputs = with_role(op, VJPI_ELEMENTS);
    for (int32_t i = 0; i < op->info.ninputs; i++)
        if (op->has_plain && call->variant == 0 &&
            op->tensors[i].dtype_rule == VJP_DTYPE_MASK)
            inputs &= ~(1u << i);
    return (vjpi_tile_operands){ inputs | outputs, outputs };
}

/* Row operands where they are dense arrays of all rows, with the first `nvalues` row values and all
 * ROWLETs. */
static uint32_t row_operands(const vjpi_op *op, int32_t nvalues)
{
    int32_t first = op->info.ninputs + op->info.noutputs;
    uint32_t values = ((1u << nvalues) - 1) << first;
    uint32_t lets = ((1u << op->nlets) - 1) << (first + op->nvalues);
    return with_role(op, VJPI_ROW_INPUT) | with_role(op, VJPI_ROW_END) | values | lets;
}

/* The fold of the last pass: SUM outputs, wanted or not. */
static vjpi_fold sum_fold(const vjpi_call *call)
{
    vjpi_fold fold = { .part = call->op->npasses - 1, .nsegments = 1 };
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++)
        if (call->op->roles[i] == VJPI_SUM)
            fold.target[fold.nsums++] =
                vjpi_has(call->facts, i) ? (uint8_t)i : (uint8_t)VJPI_NO_TARGET;
    return fold;
}

/* ---- folds -------------------------------------------------------------------------------- */

/* Nothing to read, but empty sums to write. */
static void add_zero(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    vjpi_nest *nest = &plan->nests[0];
    uint32_t sums = 0;
    memset(nest, 0, sizeof(*nest));
    nest->noperands = call->ntensors;
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        const vjp_tensor *sum = &call->tensors[i];
        if (call->op->roles[i] != VJPI_SUM || !vjpi_has(call->facts, i))
            continue;
        sums |= 1u << i;
        nest->nunits = vjpi_numel(sum);
        nest->nunit_axes = nest->naxes = sum->ndim;
        nest->size[i] = (int64_t)vjp_dtype_size(sum->dtype);
        for (int32_t d = 0; d < sum->ndim; d++) {
            nest->axes[d].count = sum->shape[d];
            if (sum->shape[d] > 1) /* else the stride may be anything */
                nest->axes[d].step[i] = sum->strides[d] * nest->size[i];
        }
    }
    if (nest->nunits > 0)
        add_stage(plan, vjpi_zero_units, 0, nest->nunits, 0)->operands.outputs = sums;
}

/* A fold of the last pass over nest `nest_index`, as wide as is worthwhile. */
static void add_sum_fold(const vjpi_call *call, const vjpi_loop *loop, vjpi_tile_operands operands,
                         int32_t nest_index, vjpi_cpu_plan *plan)
{
    vjpi_fold fold = sum_fold(call);
    int64_t column = (int64_t)plan->set->compute_size * fold.nsums;
    vjpi_nest *nest = &plan->nests[nest_index];
    vjpi_nest_fold(loop, operands.tile, VJPI_SUMMED, VJPI_SUMS_SIZE / column, nest);
    int64_t widest = widest_sums(call, nest);
    if (widest > VJPI_SUMS_SIZE)
        vjpi_nest_fold(loop, operands.tile, VJPI_SUMMED, widest / column, nest);
    fold.nsegments = segments_of(nest, call->elements);
    if (nest->sums_inner && nest->nunits * fold.nsegments < FEW_UNITS &&
        call->elements >= 2 * VJPI_GRAIN) {
        /* rows that cannot be split: fewer per unit, which keeps the order of each row's sum */
        int64_t rows = (nest->row.n * fold.nsegments + FEW_UNITS - 1) / FEW_UNITS;
        vjpi_nest_fold(loop, operands.tile, VJPI_SUMMED, rows, nest);
    }
    add_fold(plan, vjpi_fold_units, nest_index, fold, operands, cost_of(call, 1), 0);
}

/* ---- rows --------------------------------------------------------------------------------- */

/* The number of rows whose operands fit in the arrays of a task's buffer. */
static int64_t room_rows(const vjpi_cpu_plan *plan)
{
    return VJPI_ARRAYS_SIZE / (plan->row_arrays * (int64_t)plan->set->compute_size);
}

/* The most values that one pass leaves for a row. */
static int64_t most_reductions(const vjpi_op *op)
{
    int64_t most = 1;
    for (int32_t p = 0; p < op->npasses - 1; p++) {
        int64_t own = VJPI_REDUCTIONS(op->passes[p]);
        most = own > most ? own : most;
    }
    return most;
}

/* Where a row's KEEP fits: on the stack, behind the row arrays, or in the workspace. */
static void make_room_to_keep(const vjpi_call *call, int64_t row, vjpi_stage *stage)
{
    stage->kept_rows = (VJPI_ROOM_SIZE - VJPI_ARRAYS_SIZE) / row;
    if (stage->kept_rows > 0)
        return;
    int64_t size = (VJPI_ARRAYS_SIZE + row + 63) / 64 * 64;
    double tasks = vjpi_workspace_limit(call) / (double)size;
    if (tasks < (double)stage->ntasks && tasks < ENOUGH_TASKS)
        return;
    stage->kept_rows = 1;
    stage->room_size = size;
    stage->ntasks = tasks < (double)stage->ntasks ? (int64_t)tasks : stage->ntasks;
}

/* Units of columns: as wide as leaves enough of them for all threads. */
static void cut_columns(const vjpi_call *call, const vjpi_loop *loop, vjpi_tile_operands operands,
                        int64_t widest, int64_t narrow, vjpi_nest *nest)
{
    uint32_t inputs = operands.tile & ~operands.outputs;
    int64_t tasks = task_count(ENOUGH_TASKS, whole_cost(call));
    for (int64_t width = widest; width > narrow; width /= 2) {
        vjpi_nest_row(loop, inputs, operands.tile, width, nest);
        if (nest->nunits >= FEW_ROWS && nest->nunits >= tasks)
            return;
    }
    int64_t width = narrow;
    do {
        vjpi_nest_row(loop, inputs, operands.tile, width, nest);
        width /= 2;
    } while (nest->nunits < tasks && width >= LEAST_WIDTH);
}

/* Rows in blocks of whole rows, or of columns: all passes while the data is in the cache. */
static bool prepare_fused(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    vjpi_tile_operands operands = tile_operands(call);
    uint32_t inputs = operands.tile & ~operands.outputs;
    int64_t compute = (int64_t)plan->set->compute_size;
    int64_t sums = most_reductions(call->op), narrow = VJPI_SUMS_SIZE / compute / sums;
    vjpi_nest *nest = &plan->nests[0];
    vjpi_loop loop;
    vjpi_layout(call, false, &loop);
    narrow = narrow < room_rows(plan) ? narrow : room_rows(plan);
    if (!vjpi_nest_row(&loop, inputs, operands.tile, narrow, nest) ||
        (nest->nunits < FEW_ROWS && call->elements >= SPLIT_ELEMENTS))
        return false;
    plan->counter = call->ntensors;
    if (nest->sums_inner) {
        vjpi_stage *stage =
            add_stage(plan, vjpi_row_units, 0, nest->nunits, whole_cost(call));
        stage->operands = operands;
        stage->capacity = room_rows(plan);
        if (vjpi_keeps(call))
            make_room_to_keep(call, nest->inner.n * compute, stage);
        return true;
    }
    cut_columns(call, &loop, operands, widest_sums(call, nest) / compute / sums, narrow, nest);
    vjpi_fold fold = { .nsums = (int32_t)sums, .nsegments = 1 };
    vjpi_stage *stage =
        add_sums(plan, vjpi_column_units, 0, fold, nest->nunits, whole_cost(call));
    stage->operands = operands;
    add_arrays(plan, stage, nest->inner.block);
    return true;
}

/* Rows whose columns are also summed: a few whole rows at a time. */
static bool prepare_row_fold(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    vjpi_tile_operands operands = tile_operands(call);
    vjpi_fold fold = sum_fold(call);
    vjpi_nest *nest = &plan->nests[0];
    vjpi_loop loop;
    vjpi_layout(call, false, &loop);
    if (!vjpi_nest_row_fold(&loop, operands.tile & ~operands.outputs, operands.tile, nest))
        return false;
    int64_t row = nest->inner.n * fold.nsums * (int64_t)plan->set->compute_size;
    fold.nsegments = segments_of(nest, call->elements);
    /* each task's buffer, and a row for each segment */
    int64_t rows = WIDE_TASKS * (levels_for(nest->nsteps) + 1) + fold.nsegments;
    double sums = (double)rows * (double)row;
    if (row > WIDEST_ROW || (row > VJPI_SUMS_SIZE && sums > vjpi_workspace_limit(call)))
        return false;
    plan->counter = call->ntensors;
    add_fold(plan, vjpi_row_fold_units, 0, fold, operands, whole_cost(call), VJPI_CHAIN);
    return true;
}

/* The ROWLETs that precede a pass, of all rows. */
static void add_lets(const vjpi_call *call, int32_t pass, vjpi_cpu_plan *plan)
{
    if (VJPI_LETS(call->op->passes[pass]) > 0)
        add_stage(plan, vjpi_lets_rows, 0, call->rows, rows_cost(call))->fold.part = pass;
}

/* Stage by stage, with arrays of all rows in the workspace: one strided row, few long ones, an axis
 * of several dims, or sums that run both across and along rows. */
static void prepare_split(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    const vjpi_op *op = call->op;
    vjpi_tile_operands operands = tile_operands(call), inputs;
    vjpi_loop loop;
    int64_t compute = (int64_t)plan->set->compute_size;
    int32_t first = call->ntensors;
    plan->arrays_size = plan->row_arrays * call->rows * compute;
    plan->counter = call->ntensors + 1;
    int32_t last_reductions = VJPI_REDUCTIONS(op->passes[op->npasses - 2]);
    inputs = (vjpi_tile_operands){ (operands.tile & ~operands.outputs) |
                                       row_operands(op, op->nvalues - last_reductions), 0 };
    operands.tile |= row_operands(op, op->nvalues);
    vjpi_layout_rows(call, &loop);
    vjpi_nest_map(&loop, 0, &plan->nests[0]);
    add_stage(plan, vjpi_gather_rows, 0, plan->nests[0].nunits, rows_cost(call));
    if (call->elements > 0) {
        vjpi_layout(call, true, &loop);
        vjpi_nest *nest = &plan->nests[1];
        vjpi_nest_fold(&loop, inputs.tile, VJPI_AXIS,
                       VJPI_SUMS_SIZE / compute / most_reductions(op), nest);
        for (int32_t p = 0; p < op->npasses - 1; p++) {
            vjpi_fold fold = { .part = p, .nsums = VJPI_REDUCTIONS(op->passes[p]),
                               .is_max = VJPI_IS_MAX(op->passes[p]),
                               .nsegments = segments_of(nest, call->elements) };
            for (int32_t i = 0; i < fold.nsums; i++)
                fold.target[i] = (uint8_t)first++;
            add_lets(call, p, plan);
            if (call->passes >> p & 1)
                add_fold(plan, vjpi_fold_units, 1, fold, inputs, cost_of(call, 1), 0);
        }
    }
    add_lets(call, op->npasses - 1, plan);
    if (call->per_row)
        add_stage(plan, vjpi_finish_rows, 0, plan->nests[0].nunits, rows_cost(call));
    if (call->elements > 0 && call->sums) {
        add_sum_fold(call, &loop, operands, 2, plan);
    } else if (call->elements > 0 && operands.outputs & call->facts) {
        vjpi_nest_map(&loop, operands.tile, &plan->nests[2]);
        add_map(plan, 2, operands, cost_of(call, 1));
    }
}

/* ---- the plan ----------------------------------------------------------------------------- */

/* Number the row arrays: row tensors in order, then row values. */
static void number_arrays(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    memset(plan->array_of, VJPI_NO_ARRAY, sizeof(plan->array_of));
    for (int32_t i = 0; i < call->ntensors + vjpi_row_values(plan); i++)
        if (i >= call->ntensors || call->op->tensors[i].shape_rule == VJP_SHAPE_ROW)
            plan->array_of[i] = (uint8_t)plan->row_arrays++;
    plan->gathers = call->passes + 1 != 1u << (call->op->npasses - 1);
    for (int32_t i = 0; i < call->op->info.ninputs; i++)
        if (plan->array_of[i] != VJPI_NO_ARRAY &&
            (call->op->roles[i] != VJPI_ROW_END || i == plan->end))
            plan->gathers = true;
}

static void prepare_rows(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    number_arrays(call, plan);
    plan->per_row = call->per_row;
    plan->causal = call->causal_dim >= 0;
    if (plan->causal)
        plan->causal_shift = call->length - call->shape[call->causal_dim];
    if (call->elements == 0) {
        if (call->sums)
            add_zero(call, plan);
        else if (call->rows > 0 && call->per_row)
            prepare_split(call, plan);
    } else if (!(call->sums ? prepare_row_fold(call, plan) : prepare_fused(call, plan))) {
        prepare_split(call, plan);
    }
}

static void prepare_elements(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    vjpi_tile_operands operands = tile_operands(call);
    vjpi_loop loop;
    if (call->elements == 0) {
        if (call->sums)
            add_zero(call, plan);
        return;
    }
    vjpi_layout(call, false, &loop);
    if (call->sums) {
        add_sum_fold(call, &loop, operands, 0, plan);
        return;
    }
    vjpi_nest_map(&loop, operands.tile, &plan->nests[0]);
    add_map(plan, 0, operands, cost_of(call, 1));
}

size_t vjpi_cpu_prepare(const vjpi_call *call, vjpi_cpu_plan *plan)
{
    plan->rows = call->rows;
    plan->length = call->length;
    plan->end = call->end;
    if (call->op->npasses > 1)
        prepare_rows(call, plan);
    else
        prepare_elements(call, plan);
    for (int32_t s = 0; s < plan->nstages; s++) {
        int64_t rooms = plan->stages[s].ntasks * plan->stages[s].room_size;
        plan->rooms_size = rooms > plan->rooms_size ? rooms : plan->rooms_size;
    }
    return (size_t)(plan->arrays_size + plan->rooms_size + plan->segments_size);
}
