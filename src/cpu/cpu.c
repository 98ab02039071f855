/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - the CPU behind the backend interface: contexts, plans, and runs, which execute the stages
 * of a plan in order.
 *
 * The machine only determines which instructions are used, which threads do the work and whether
 * stores bypass the caches. */
#include <stdlib.h>

#include "core/fpmode.h"
#include "cpu/stage.h"

#define WORKSPACE_ALIGNMENT 64

/* The best instruction set, up to the one named. */
static vjp_status cap_isa(const char *where, const char *cap, vjpi_cpu_context *state,
                          vjpi_reason reason)
{
    const vjpi_isa *capped = vjpi_best_isa(cap && *cap ? cap : NULL);
    if (!capped)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "%s: this build has no instruction set '%.32s'", where, cap);
    state->isa = state->isa ? vjpi_lower_isa(state->isa, capped) : capped;
    return VJP_OK;
}

static vjp_status open_cpu(vjp_context *ctx, vjpi_reason reason)
{
    vjpi_cpu_context *state = (vjpi_cpu_context *)(void *)ctx->state;
    vjp_status status;
    if (ctx->options.device_id != 0)
        return vjpi_refuse(reason, VJP_NO_DEVICE,
                           "options: device_id must be 0 for the CPU, not %d",
                           (int)ctx->options.device_id);
    if (!vjpi_best_isa(NULL))
        return vjpi_refuse(reason, VJP_NO_DEVICE,
                           "this processor has none of this build's instruction sets");
    if ((status = cap_isa("options: isa", ctx->options.isa, state, reason)) != VJP_OK ||
        (status = cap_isa("VJP_ISA", getenv("VJP_ISA"), state, reason)) != VJP_OK)
        return status;
    state->cache_size = vjpi_cache_size();
    state->most_threads = vjpi_most_threads(ctx->options.num_threads);
    return VJP_OK;
}

static const char *isa_name(const vjp_context *ctx)
{
    return vjpi_cpu_state(ctx)->isa->name;
}

static const char *no_error(const vjp_context *ctx)
{
    (void)ctx;
    return "";
}

/* ---- plans -------------------------------------------------------------------------------- */

/* The element that is read in place of an omitted input. */
static void set_stand_in(const vjpi_call *call, int32_t i, vjpi_cpu_plan *plan)
{
    plan->dtypes[i] = (uint8_t)call->dtype;
    if (call->op->tensors[i].dtype_rule == VJP_DTYPE_MASK) {
        *(uint8_t *)&plan->stand_ins[i] = call->op->stand_ins[i] != 0;
        return;
    }
    double number = call->op->stand_ins[i];
    float narrow = (float)number;
    const void *compute = plan->compute == VJP_F64 ? (const void *)&number : (const void *)&narrow;
    plan->set->store(call->dtype, compute, 1, (char *)&plan->stand_ins[i], 0);
}

static vjp_status prepare(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace, vjpi_reason reason)
{
    (void)reason;
    vjpi_cpu_plan *plan = state;
    plan->set = vjpi_cpu_state(ctx)->isa->sets[call->dtype];
    plan->op = call->op;
    plan->compute = plan->set->compute_size == sizeof(double) ? VJP_F64 : VJP_F32;
    plan->facts = call->facts;
    plan->passes = call->passes;
    plan->ntensors = call->ntensors;
    for (int32_t i = 0; i < call->ntensors; i++) {
        plan->dtypes[i] = (uint8_t)call->tensors[i].dtype;
        if (i < call->op->info.ninputs && !vjpi_has(call->facts, i))
            set_stand_in(call, i, plan);
    }
    vjpi_set_constants(call, plan->constants);
    plan->non_temporal =
        vjpi_total_bytes(call, call->ntensors) > (double)vjpi_cpu_state(ctx)->cache_size;
    *workspace = vjpi_cpu_prepare(call, plan);
    plan->kernels = plan->set->kernels[call->op->formula][call->variant][call->mixed];
    vjpi_cpu_lookup(ctx, call, plan);
    *workspace += *workspace > 0 ? WORKSPACE_ALIGNMENT - 1 : 0;
    return VJP_OK;
}

/* ---- run ---------------------------------------------------------------------------------- */

typedef struct stage_run {
    const vjpi_job *job;
    const vjpi_stage *stage;
    int64_t ntasks;
} stage_run;

static void run_task(void *arg, int64_t index)
{
    const stage_run *run = arg;
    const vjpi_stage *stage = run->stage;
    _Alignas(64) char room[VJPI_ROOM_SIZE];
    vjpi_fpmode caller = vjpi_fpmode_enter();
    stage->run(run->job, stage, vjpi_share(stage->nunits, run->ntasks, index),
               vjpi_share(stage->nunits, run->ntasks, index + 1),
               stage->room_size > 0 ? run->job->rooms + index * stage->room_size : room);
#if defined(__x86_64__)
    if (run->job->non_temporal)
        _mm_sfence(); /* make non-temporal stores visible before completion is signalled */
#endif
    vjpi_fpmode_leave(caller);
}

/* Each of our own threads gets one task, and with it neighbouring units. */
static void run_stage(const vjp_context *ctx, const vjpi_job *job, const vjpi_stage *stage)
{
    int32_t threads = stage->ntasks > 1 ? vjpi_threads(ctx) : 1;
    stage_run run = { job, stage, stage->ntasks };
    if (threads > 0 && threads < run.ntasks)
        run.ntasks = threads;
    vjpi_parallel(ctx, threads, run.ntasks, run_task, &run);
}

/* Is an output in place? Then its lines are already in the cache, and stores that bypass it would
 * only evict them. */
static bool is_in_place(const vjpi_cpu_plan *plan, char *const *data)
{
    int32_t ninputs = plan->op->info.ninputs;
    for (int32_t out = ninputs; out < plan->ntensors; out++)
        for (int32_t i = 0; i < ninputs && data[out]; i++)
            if (data[i] == data[out])
                return true;
    return false;
}

/* Divide the workspace, and point the row operands at their arrays there, if any. */
static void use_workspace(const vjpi_cpu_plan *plan, char *workspace, vjpi_job *job)
{
    workspace += -(uintptr_t)workspace % WORKSPACE_ALIGNMENT;
    job->rooms = workspace + plan->arrays_size;
    job->segments = job->rooms + plan->rooms_size;
    if (plan->arrays_size == 0)
        return;
    for (int32_t i = 0; i < plan->ntensors; i++)
        job->rows[i] = job->data[i];
    job->rows[plan->ntensors] = workspace;
    job->rows[plan->ntensors + 1] = job->origin;
    for (int32_t i = 0; i < plan->ntensors + vjpi_row_values(plan); i++)
        if (plan->array_of[i] != VJPI_NO_ARRAY)
            job->data[i] = vjpi_array(plan, i, workspace, plan->rows);
    job->data[plan->ntensors + vjpi_row_values(plan)] = job->origin;
}

static vjp_status run(vjp_context *ctx, const void *state, char *const *data, void *workspace,
                      void *stream)
{
    const vjpi_cpu_plan *plan = state;
    vjpi_job job; /* not cleared: that would slow small runs */
    double unwanted; /* where unwanted outputs of one element are stored */
    (void)stream;
    if (plan->nstages == 0)
        return VJP_OK;
    job.plan = plan;
    job.origin = (char *)&job;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        job.data[i] = data[i];
        if (!data[i]) /* omitted, or empty: any address but NULL */
            job.data[i] = i < plan->op->info.ninputs ? (char *)(uintptr_t)&plan->stand_ins[i]
                                                     : (char *)&unwanted;
    }
    job.data[plan->ntensors] = job.origin;
    job.non_temporal = plan->non_temporal && !is_in_place(plan, data);
    if (workspace)
        use_workspace(plan, workspace, &job);
    for (int32_t s = 0; s < plan->nstages; s++)
        run_stage(ctx, &job, &plan->stages[s]);
    return VJP_OK;
}

static vjp_status finish(vjp_context *ctx)
{
    (void)ctx;
    return VJP_OK;
}

const vjpi_backend vjpi_backend_cpu = {
    .context_size = sizeof(vjpi_cpu_context),
    .plan_size = sizeof(vjpi_cpu_plan),
    .plan_zeroed = offsetof(vjpi_cpu_plan, nests),
    .host_memory = true,
    .open = open_cpu,
    .close = vjpi_cpu_close,
    .isa = isa_name,
    .error = no_error,
    .threads = vjpi_threads,
    .prepare = prepare,
    .run = run,
    .allocate = vjpi_allocate,
    .deallocate = vjpi_deallocate,
    .finish = finish,
};
