/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - the CPU behind the backend interface: a call becomes stages, a run does them in order.
 *
 * How a call is cut depends on its shapes, strides and dtypes alone, and so do the bits of its
 * sums. The machine decides only which instructions are used, which threads do the work and
 * whether stores bypass the caches. */
#include <math.h>
#include <stdlib.h>

#include "cpu/fpmode.h"
#include "cpu/stage.h"

#ifndef TASK_ELEMENTS        /* VJP_TASK_ELEMENTS of the build */
#define TASK_ELEMENTS 65536  /* less than two tasks' worth of work stays on the calling thread */
#endif
#define FEW_UNITS 32         /* fewer: cut sums into segments, so that threads can share them */
#define SPLIT_ELEMENTS (1 << 20) /* fewest to do a row operator with few rows as fold and map */
#define FEW_ROWS 8
#define WIDEST 65536         /* bytes of a row of sums in the workspace */
#define WIDE_TASKS 16        /* most tasks that have their rooms there */
#define WORKSPACE_ALIGNMENT 64

static vjp_status open_cpu(vjp_context *ctx, vjpi_reason reason)
{
    const char *cap = getenv("VJP_ISA");
    if (ctx->options.device_id != 0)
        return vjpi_refuse(reason, VJP_NO_DEVICE, "options: there is no CPU %d, only 0",
                           (int)ctx->options.device_id);
    ctx->isa = vjpi_best_isa(cap && *cap ? cap : NULL);
    if (!ctx->isa)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "VJP_ISA: this build has no instruction set '%.32s'", cap);
    ctx->cache_size = vjpi_cache_size();
    ctx->most_threads = vjpi_most_threads(ctx->options.num_threads);
    return VJP_OK;
}

static const char *isa_name(const vjp_context *ctx)
{
    return ctx->isa->name;
}

static const char *no_error(const vjp_context *ctx)
{
    (void)ctx;
    return "";
}

/* ---- prepare ------------------------------------------------------------------------------ */

/* How many tasks to make of units that hold so many elements together. */
static int64_t task_count(int64_t nunits, int64_t elements)
{
    int64_t tasks = elements / TASK_ELEMENTS;
    tasks = tasks < VJPI_MAX_TASKS ? tasks : VJPI_MAX_TASKS;
    tasks = tasks < nunits ? tasks : nunits;
    return tasks < 2 ? 1 : tasks;
}

static vjpi_stage *add_stage(vjpi_cpu_plan *plan, int32_t nest, int64_t nunits, int64_t elements)
{
    vjpi_stage *stage = &plan->stages[plan->nstages++];
    stage->nest = nest;
    stage->nunits = nunits;
    stage->ntasks = task_count(nunits, elements);
    return stage;
}

static void add_map(vjpi_cpu_plan *plan, int32_t nest, vjpi_tile_operands operands,
                    int64_t elements)
{
    vjpi_stage *stage = add_stage(plan, nest, plan->nests[nest].nunits, elements);
    stage->run = vjpi_map_units;
    stage->operands = operands;
}

/* Levels of a tree that takes so many rows of sums. */
static int32_t levels_for(int64_t rows)
{
    int32_t levels = 1;
    while (rows > VJPI_SUM_RADIX && levels < VJPI_SUM_LEVELS) {
        rows = (rows + VJPI_SUM_RADIX - 1) / VJPI_SUM_RADIX;
        levels++;
    }
    return levels;
}

/* Bytes of the widest row of sums that leaves the workspace within its limit: sums over columns
 * read the longer runs of memory the more columns they take side by side. */
static int64_t widest_sums(const vjpi_call *call, const vjpi_nest *narrow)
{
    int64_t size = WIDEST, rows = levels_for(narrow->nsteps) + 1;
    double limit = vjpi_workspace_limit(call);
    if (narrow->sums_inner || narrow->packed)
        return VJPI_SUMS_SIZE;
    /* each task's room, and a row for each of up to twice as many segments */
    while (size > VJPI_SUMS_SIZE &&
           (double)(WIDE_TASKS * (rows + 2) * size + WORKSPACE_ALIGNMENT) > limit)
        size /= 2;
    return size;
}

/* A stage that makes sums over nest 0: where its tasks find room for them. */
static vjpi_stage *add_sums(vjpi_cpu_plan *plan, int64_t nunits, int64_t elements)
{
    const vjpi_nest *nest = &plan->nests[0];
    vjpi_stage *stage = add_stage(plan, 0, nunits, elements);
    plan->sums_width = nest->sums_inner ? nest->row.block : nest->inner.block;
    plan->sum_levels = VJPI_SUM_LEVELS;
    int64_t row = plan->sums_width * plan->nsums * (int64_t)plan->set->compute_size;
    if (row > VJPI_SUMS_SIZE) {
        plan->sum_levels = levels_for(nest->nsteps);
        stage->room_size = (plan->sum_levels + 1) * row;
        stage->ntasks = stage->ntasks < WIDE_TASKS ? stage->ntasks : WIDE_TASKS;
    }
    if (stage->ntasks * stage->room_size > plan->rooms_size)
        plan->rooms_size = stage->ntasks * stage->room_size;
    return stage;
}

/* Into how many segments a fold over nest 0 is cut: few units alone could not be shared. */
static int64_t segments_of(const vjpi_nest *nest, int64_t elements)
{
    if (nest->nunits >= FEW_UNITS || elements < 2 * TASK_ELEMENTS)
        return 1;
    int64_t segments = FEW_UNITS / nest->nunits, most = elements / TASK_ELEMENTS;
    segments = segments < most ? segments : most;
    return segments < nest->nsteps ? segments : nest->nsteps;
}

/* A fold over nest 0: units x segments and, if there are several, the segments together. */
static void add_fold(vjpi_cpu_plan *plan, vjpi_tile_operands operands, int64_t elements)
{
    const vjpi_nest *nest = &plan->nests[0];
    vjpi_stage *stage = add_sums(plan, nest->nunits * plan->nsegments, elements);
    stage->run = vjpi_fold_units;
    stage->operands = operands;
    if (plan->nsegments > 1)
        add_sums(plan, nest->nunits, nest->nunits * plan->sums_width)->run = vjpi_join_segments;
}

/* Nothing to read, but sums of nothing to write: each element of the SUM outputs is a unit. */
static void add_zero(vjpi_cpu_plan *plan, const vjpi_call *call)
{
    const vjp_tensor *sum = &call->tensors[plan->first_sum];
    vjpi_nest *nest = &plan->nests[0];
    nest->noperands = call->ntensors;
    nest->nunits = vjpi_numel(sum);
    if (nest->nunits == 0)
        return;
    nest->nunit_axes = nest->naxes = sum->ndim;
    for (int32_t i = plan->first_sum; i < call->ntensors; i++) {
        nest->size[i] = (int64_t)vjp_dtype_size(call->tensors[i].dtype);
        for (int32_t d = 0; d < sum->ndim; d++) {
            nest->axes[d].count = sum->shape[d];
            if (sum->shape[d] > 1) /* else the stride may be anything */
                nest->axes[d].step[i] = call->tensors[i].strides[d] * nest->size[i];
        }
    }
    add_stage(plan, 0, nest->nunits, 0)->run = vjpi_zero_units;
}

static void prepare_row(const vjpi_call *call, vjpi_tile_operands operands, int64_t elements,
                        vjpi_cpu_plan *plan)
{
    int64_t compute = (int64_t)plan->set->compute_size, size = VJPI_SUMS_SIZE;
    vjpi_nest *nest = &plan->nests[0];
    vjpi_loop loop;
    plan->nsums = 1;
    vjpi_layout(call, 0, &loop);
    bool fused = vjpi_nest_row(&loop, plan->ninputs, operands.n, size / compute, nest);
    if (fused && !(nest->nunits < FEW_ROWS && elements >= SPLIT_ELEMENTS)) {
        size = widest_sums(call, nest);
        do { /* as wide as leaves enough units to share among threads */
            vjpi_nest_row(&loop, plan->ninputs, operands.n, size / compute, nest);
            size /= 2;
        } while (size >= VJPI_SUMS_SIZE && nest->nunits < FEW_ROWS);
        vjpi_stage *stage = nest->sums_inner ? add_stage(plan, 0, nest->nunits, elements)
                                             : add_sums(plan, nest->nunits, elements);
        stage->run = nest->sums_inner ? vjpi_row_units : vjpi_column_units;
        stage->operands = operands;
        return;
    }
    /* One strided row, or few long ones: the sums first, then the outputs. */
    vjpi_layout(call, compute, &loop);
    plan->first_sum = call->ntensors;
    plan->rowsums_size = compute;
    for (int32_t d = 0; d < call->ndim; d++)
        plan->rowsums_size *= call->reduced[d] ? 1 : call->shape[d];
    plan->store[0] = plan->set->store_wide;
    vjpi_nest_fold(&loop, operands.first_output, VJPI_SUMS_SIZE / compute, nest);
    plan->nsegments = segments_of(nest, elements);
    add_fold(plan, (vjpi_tile_operands){ operands.first_output, operands.first_output, 0 },
             elements);
    vjpi_nest_map(&loop, operands.n + 1, &plan->nests[1]);
    operands.n++;
    add_map(plan, 1, operands, elements);
}

static void prepare_fold(const vjpi_call *call, vjpi_tile_operands operands, int64_t elements,
                         vjpi_cpu_plan *plan)
{
    vjpi_loop loop;
    plan->first_sum = operands.n;
    plan->nsums = call->ntensors - operands.n;
    for (int32_t i = 0; i < plan->nsums; i++) {
        vjp_dtype_rule rule = call->op->tensors[operands.n + i].dtype_rule;
        bool wide = call->wide && rule == VJP_DTYPE_WIDE;
        plan->store[i] = wide ? plan->set->store_wide : plan->set->store;
    }
    if (elements == 0) {
        add_zero(plan, call);
        return;
    }
    vjpi_layout(call, 0, &loop);
    int64_t column = (int64_t)plan->set->compute_size * plan->nsums;
    vjpi_nest *nest = &plan->nests[0];
    vjpi_nest_fold(&loop, operands.n, VJPI_SUMS_SIZE / column, nest);
    vjpi_nest_fold(&loop, operands.n, widest_sums(call, nest) / column, nest);
    plan->nsegments = segments_of(nest, elements);
    if (nest->sums_inner && nest->nunits * plan->nsegments < FEW_UNITS &&
        elements >= 2 * TASK_ELEMENTS) {
        /* rows that cannot be cut: fewer of them a unit, which leaves the order of each row's sum */
        int64_t rows = (nest->row.n * plan->nsegments + FEW_UNITS - 1) / FEW_UNITS;
        vjpi_nest_fold(&loop, operands.n, rows, nest);
    }
    add_fold(plan, operands, elements);
}

static size_t workspace_size(const vjpi_cpu_plan *plan)
{
    int64_t size = plan->rowsums_size + plan->rooms_size;
    if (plan->nsegments > 1)
        size += plan->nsegments * plan->nests[0].nunits * plan->sums_width * plan->nsums *
                (int64_t)plan->set->compute_size;
    return size > 0 ? (size_t)size + WORKSPACE_ALIGNMENT - 1 : 0;
}

static vjp_status prepare(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace, vjpi_reason reason)
{
    (void)reason;
    vjpi_cpu_plan *plan = state;
    const vjpi_op *op = call->op;
    int64_t elements = vjpi_numel(&call->tensors[0]);
    vjpi_tile_operands operands = { op->info.ninputs + op->nfull, op->info.ninputs, op->nfull };
    plan->set = ctx->isa->sets[call->dtype];
    plan->kernels = &plan->set->kernels[op->formula][call->choice][call->wide];
    plan->ninputs = op->info.ninputs;
    for (int32_t i = 0; i < VJPI_MAX_ATTRS; i++) /* any NaN as the lanes want it */
        plan->constants[i] = isnan(call->constants[i]) ? NAN : call->constants[i];
    plan->stream = vjpi_total_bytes(call, call->ntensors) > (double)ctx->cache_size;
    if (op->kind == VJPI_FOLD) {
        prepare_fold(call, operands, elements, plan);
    } else if (elements > 0 && op->kind == VJPI_ROW) {
        prepare_row(call, operands, elements, plan);
    } else if (elements > 0) {
        vjpi_loop loop;
        vjpi_layout(call, 0, &loop);
        vjpi_nest_map(&loop, operands.n, &plan->nests[0]);
        add_map(plan, 0, operands, elements);
    }
    *workspace = workspace_size(plan);
    return VJP_OK;
}

/* ---- run ---------------------------------------------------------------------------------- */

typedef struct stage_run {
    const vjpi_job *job;
    const vjpi_stage *stage;
} stage_run;

static void run_task(void *arg, int64_t index)
{
    const stage_run *run = arg;
    const vjpi_stage *stage = run->stage;
    _Alignas(64) char room[VJPI_ROOM_SIZE];
    vjpi_fpmode caller = vjpi_fpmode_enter();
    stage->run(run->job, stage, vjpi_share(stage->nunits, stage->ntasks, index),
               vjpi_share(stage->nunits, stage->ntasks, index + 1),
               stage->room_size > 0 ? run->job->rooms + index * stage->room_size : room);
#if defined(__x86_64__)
    if (run->job->stream)
        _mm_sfence(); /* streamed stores are seen before whatever tells that we are done */
#endif
    vjpi_fpmode_leave(caller);
}

static bool is_in_place(const vjpi_cpu_plan *plan, void *const *buffers)
{
    for (int32_t i = 0; i < plan->ninputs; i++)
        if (buffers[i] == buffers[plan->ninputs])
            return true;
    return false;
}

static vjp_status run(vjp_context *ctx, const void *state, void *const *buffers, void *workspace,
                      void *stream)
{
    const vjpi_cpu_plan *plan = state;
    vjpi_job job = { .plan = plan };
    (void)stream;
    if (plan->nstages == 0)
        return VJP_OK;
    int32_t ntensors = plan->nests[0].noperands - (plan->rowsums_size > 0);
    for (int32_t i = 0; i < ntensors; i++) /* NULL has no elements, but may not even be added to */
        job.data[i] = buffers[i] ? buffers[i] : (char *)&job;
    /* In place the line is in the cache already: storing past it would only lose it. */
    job.stream = plan->stream && !is_in_place(plan, buffers);
    if (workspace) {
        uintptr_t up = -(uintptr_t)workspace % WORKSPACE_ALIGNMENT;
        job.data[ntensors] = (char *)workspace + up;
        job.rooms = (char *)workspace + up + plan->rowsums_size;
        job.segments = job.rooms + plan->rooms_size;
    }
    for (int32_t s = 0; s < plan->nstages; s++) {
        stage_run stage = { &job, &plan->stages[s] };
        vjpi_parallel(ctx, stage.stage->ntasks, run_task, &stage);
    }
    return VJP_OK;
}

static vjp_status finish(vjp_context *ctx)
{
    (void)ctx;
    return VJP_OK;
}

const vjpi_backend vjpi_backend_cpu = {
    .plan_size = sizeof(vjpi_cpu_plan),
    .open = open_cpu,
    .isa = isa_name,
    .error = no_error,
    .threads = vjpi_threads,
    .prepare = prepare,
    .run = run,
    .allocate = vjpi_allocate,
    .deallocate = vjpi_deallocate,
    .finish = finish,
};
