/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a checked call in one allocation, ready to run.
 *
 * What can be known before the addresses are is decided at creation. What is left for each run:
 * NULL, alignment, overlap (a comparison of ranges unless tensors share memory) and workspace. */
#include <string.h>

#include "core/internal.h"

struct vjp_plan {
    vjp_context *ctx;
    const vjpi_op *op;
    int32_t ntensors;
    size_t workspace_size;
    vjpi_span span[VJPI_MAX_TENSORS];
    size_t alignment[VJPI_MAX_TENSORS];
    vjp_tensor tensors[VJPI_MAX_TENSORS];
    _Alignas(16) char state[]; /* the backend's part */
};

vjp_status vjp_plan_create(vjp_context *ctx, const char *op, const vjp_attr *attrs, int32_t nattrs,
                           const vjp_tensor *const *tensors, int32_t ntensors, vjp_plan **plan,
                           char *text, size_t text_size)
{
    vjpi_reason reason = vjpi_reason_begin(text, text_size);
    vjpi_call call;
    vjp_plan *made;
    vjp_status status;
    if (plan)
        *plan = NULL;
    if (!plan || !ctx)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s is NULL", plan ? "ctx" : "plan");
    status = vjpi_check(op, attrs, nattrs, tensors, ntensors, &call, reason);
    if (status != VJP_OK)
        return status;
    made = vjpi_allocate(ctx, sizeof(*made) + ctx->backend->plan_size);
    if (!made)
        return vjpi_refuse(reason, VJP_NO_MEMORY, "no memory for a plan");
    memset(made, 0, sizeof(*made) + ctx->backend->plan_size);
    made->ctx = ctx;
    made->op = call.op;
    made->ntensors = ntensors;
    for (int32_t i = 0; i < ntensors; i++) {
        made->tensors[i] = call.tensors[i];
        made->span[i] = vjpi_tensor_span(&call.tensors[i]);
        made->alignment[i] = vjp_dtype_size(call.tensors[i].dtype);
    }
    status = ctx->backend->prepare(ctx, &call, made->state, &made->workspace_size, reason);
    if (status != VJP_OK) {
        vjpi_deallocate(ctx, made);
        return status;
    }
    vjpi_context_retain(ctx);
    *plan = made;
    return VJP_OK;
}

void vjp_plan_destroy(vjp_plan *plan)
{
    if (!plan)
        return;
    vjp_context *ctx = plan->ctx;
    vjpi_deallocate(ctx, plan);
    vjp_context_destroy(ctx);
}

size_t vjp_plan_workspace_size(const vjp_plan *plan)
{
    return plan ? plan->workspace_size : 0;
}

static const char *name_of(const vjp_plan *plan, int32_t i)
{
    return plan->op->tensors[i].name;
}

/* Does output i at address a overlap tensor j at b, other than in place? */
static vjpi_answer overlap(const vjp_plan *plan, int32_t i, int32_t j, const void *a, const void *b)
{
    vjpi_span out = plan->span[i], other = plan->span[j];
    int64_t distance = (int64_t)((uintptr_t)b - (uintptr_t)a);
    if (out.low == out.high || other.low == other.high || distance >= out.high - other.low ||
        distance <= out.low - other.high)
        return VJPI_NO;
    if (a == b && j < plan->op->info.ninputs &&
        vjpi_same_view(&plan->tensors[i], &plan->tensors[j]))
        return VJPI_NO;
    return vjpi_overlap(&plan->tensors[i], &plan->tensors[j], distance);
}

/* An output may lie where an input does, exactly; nowhere else near another tensor. */
static vjp_status check_overlaps(const vjp_plan *plan, void *const *buffers, vjpi_reason reason)
{
    int32_t ninputs = plan->op->info.ninputs;
    for (int32_t i = ninputs; i < plan->ntensors; i++)
        for (int32_t j = 0; j < i; j++) {
            vjpi_answer shared = overlap(plan, i, j, buffers[i], buffers[j]);
            if (shared != VJPI_NO)
                return vjpi_refuse(reason, VJP_BAD_ALIAS, "%s: %s %s%s", name_of(plan, i),
                                   shared == VJPI_YES ? "overlaps" : "may overlap",
                                   name_of(plan, j),
                                   j < ninputs ? " other than in place" : ", which is an output too");
        }
    return VJP_OK;
}

static vjp_status check_run(const vjp_plan *plan, void *const *buffers, const void *workspace,
                            size_t workspace_size, vjpi_reason reason)
{
    if (!plan || !buffers)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s is NULL", plan ? "buffers" : "plan");
    for (int32_t i = 0; i < plan->ntensors; i++) {
        if (!buffers[i] && plan->span[i].low != plan->span[i].high)
            return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: its data is NULL", name_of(plan, i));
        if ((uintptr_t)buffers[i] & (plan->alignment[i] - 1))
            return vjpi_refuse(reason, VJP_BAD_ALIGNMENT,
                               "%s: its data is not aligned to %zu bytes", name_of(plan, i),
                               plan->alignment[i]);
    }
    vjp_status status = check_overlaps(plan, buffers, reason);
    if (status != VJP_OK)
        return status;
    if (plan->workspace_size > 0 && (!workspace || workspace_size < plan->workspace_size))
        return vjpi_refuse(reason, VJP_BAD_WORKSPACE, "workspace: %zu bytes, %zu are needed",
                           workspace ? workspace_size : 0, plan->workspace_size);
    return VJP_OK;
}

vjp_status vjp_plan_check(const vjp_plan *plan, void *const *buffers, const void *workspace,
                          size_t workspace_size, char *text, size_t text_size)
{
    return check_run(plan, buffers, workspace, workspace_size, vjpi_reason_begin(text, text_size));
}

vjp_status vjp_plan_run(const vjp_plan *plan, void *const *buffers, void *workspace,
                        size_t workspace_size, void *stream)
{
    vjpi_reason unsaid = { NULL, 0 };
    vjp_status status = check_run(plan, buffers, workspace, workspace_size, unsaid);
    if (status != VJP_OK)
        return status;
    return plan->ctx->backend->run(plan->ctx, plan->state, buffers, workspace, stream);
}

static vjp_status run_once(vjp_plan *plan, void *const *buffers, vjpi_reason reason)
{
    const vjpi_backend *backend = plan->ctx->backend;
    size_t size = plan->workspace_size;
    void *workspace = size > 0 ? backend->allocate(plan->ctx, size) : NULL;
    vjp_status status;
    if (size > 0 && !workspace)
        return vjpi_refuse(reason, VJP_NO_MEMORY, "no memory for a workspace of %zu bytes", size);
    status = check_run(plan, buffers, workspace, size, reason);
    if (status == VJP_OK) {
        status = backend->run(plan->ctx, plan->state, buffers, workspace, NULL);
        if (status == VJP_OK)
            status = backend->finish(plan->ctx);
        if (status != VJP_OK)
            vjpi_refuse(reason, status, "the device reports %s", backend->error(plan->ctx));
    }
    if (workspace)
        backend->deallocate(plan->ctx, workspace);
    return status;
}

vjp_status vjp_compute(vjp_context *ctx, const char *op, const vjp_attr *attrs, int32_t nattrs,
                       const vjp_tensor *const *tensors, void *const *buffers, int32_t ntensors,
                       char *text, size_t text_size)
{
    vjp_context *own = NULL;
    vjp_plan *plan = NULL;
    vjp_status status = VJP_OK;
    if (!ctx)
        status = vjp_context_create(NULL, &own, text, text_size);
    if (status == VJP_OK)
        status = vjp_plan_create(ctx ? ctx : own, op, attrs, nattrs, tensors, ntensors, &plan,
                                 text, text_size);
    if (status == VJP_OK)
        status = run_once(plan, buffers, vjpi_reason_begin(text, text_size));
    vjp_plan_destroy(plan);
    vjp_context_destroy(own);
    return status;
}
