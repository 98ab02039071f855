/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a checked call in one allocation, ready to run.
 *
 * Everything that does not depend on addresses is decided at creation. Each run only checks for
 * NULL, alignment, overlap (a comparison of ranges unless tensors share memory) and workspace. */
#include <inttypes.h>
#include <string.h>

#include "core/internal.h"

struct vjp_plan {
    vjp_context *ctx;
    const vjpi_op *op;
    uint32_t facts;  /* which tensors it has */
    int32_t ntensors;
    uint32_t labels;               /* bit i: each run checks the labels of input i */
    int64_t length, ignored_label; /* what they are checked against */
    size_t workspace_size;
    vjpi_span span[VJPI_MAX_TENSORS];
    size_t alignment[VJPI_MAX_TENSORS];
    vjp_tensor tensors[VJPI_MAX_TENSORS];
    _Alignas(16) char state[]; /* the backend's part */
};

/* Only the CPU can read labels before it runs. */
static uint32_t labels_to_check(const vjp_context *ctx, const vjpi_call *call)
{
    uint32_t labels = 0;
    for (int32_t i = 0; i < call->op->info.ninputs; i++)
        if (vjpi_has(call->facts, i) && call->op->tensors[i].flags & VJP_TENSOR_LABEL)
            labels |= 1u << i;
    return ctx->backend->host_memory && !call->lenient ? labels : 0;
}

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
    memset(made, 0, sizeof(*made) + ctx->backend->plan_zeroed);
    made->ctx = ctx;
    made->op = call.op;
    made->facts = call.facts;
    made->ntensors = call.ntensors;
    made->length = call.length;
    made->ignored_label = call.ignored_label;
    made->labels = labels_to_check(ctx, &call);
    for (int32_t i = 0; i < call.ntensors; i++) {
        if (!vjpi_has(call.facts, i))
            continue;
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

/* ---- checks of each run ------------------------------------------------------------------- */

/* Does output i at address a overlap tensor j at b, other than in place? */
static vjpi_answer overlap_of(const vjp_plan *plan, int32_t i, int32_t j, const void *a,
                              const void *b)
{
    vjpi_span out = plan->span[i], other = plan->span[j];
    int64_t distance = (int64_t)((uintptr_t)b - (uintptr_t)a);
    if (out.low == out.high || other.low == other.high || distance >= out.high - other.low ||
        distance <= out.low - other.high)
        return VJPI_NO;
    if (a == b && j < plan->op->info.ninputs && plan->op->roles[i] != VJPI_PER_ROW &&
        vjpi_same_view(&plan->tensors[i], &plan->tensors[j]))
        return VJPI_NO;
    return vjpi_overlap(&plan->tensors[i], &plan->tensors[j], distance);
}

/* An output may share exactly the memory of an input, and overlap no other tensor. */
static vjp_status check_aliases(const vjp_plan *plan, char *const *data, vjpi_reason reason)
{
    int32_t ninputs = plan->op->info.ninputs;
    for (int32_t i = ninputs; i < plan->ntensors; i++)
        for (int32_t j = 0; j < i; j++) {
            vjpi_answer shared = overlap_of(plan, i, j, data[i], data[j]);
            if (shared != VJPI_NO)
                return vjpi_refuse(
                    reason, VJP_BAD_ALIAS, "%s: %s %s%s", name_of(plan, i),
                    shared == VJPI_YES ? "overlaps" : "may overlap", name_of(plan, j),
                    j < ninputs ? " other than in place" : ", which is an output too");
        }
    return VJP_OK;
}

static int64_t label_at(const vjp_tensor *labels, const char *data, int64_t offset)
{
    int32_t narrow;
    int64_t label;
    if (labels->dtype == VJP_S32) {
        memcpy(&narrow, data + offset * (int64_t)sizeof(narrow), sizeof(narrow));
        return narrow;
    }
    memcpy(&label, data + offset * (int64_t)sizeof(label), sizeof(label));
    return label;
}

/* Each label is a position along the axis, or the value to ignore. Rows are numbered in the order
 * of the labels' own shape. */
static vjp_status check_labels(const vjp_plan *plan, int32_t tensor, const char *data,
                               vjpi_reason reason)
{
    const vjp_tensor *labels = &plan->tensors[tensor];
    int64_t index[VJP_MAX_DIMS] = { 0 }, offset = 0, rows = vjpi_numel(labels);
    for (int64_t row = 0; row < rows; row++) {
        int64_t label = label_at(labels, data, offset);
        if ((label < 0 || label >= plan->length) && label != plan->ignored_label)
            return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                               "%s: row %" PRId64 " has %" PRId64 ", not 0 to %" PRId64,
                               name_of(plan, tensor), row, label, plan->length - 1);
        for (int32_t d = labels->ndim - 1; d >= 0; d--) {
            offset += labels->strides[d];
            if (++index[d] < labels->shape[d])
                break;
            offset -= index[d] * labels->strides[d];
            index[d] = 0;
        }
    }
    return VJP_OK;
}

static vjp_status check_addresses(const vjp_plan *plan, char *const *data, vjpi_reason reason)
{
    for (int32_t i = 0; i < plan->ntensors; i++) {
        if (!data[i] && plan->span[i].low != plan->span[i].high)
            return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: data pointer is NULL",
                               name_of(plan, i));
        if (data[i] && (uintptr_t)data[i] & (plan->alignment[i] - 1))
            return vjpi_refuse(reason, VJP_BAD_ALIGNMENT,
                               "%s: data pointer is not aligned to %zu bytes", name_of(plan, i),
                               plan->alignment[i]);
    }
    return check_aliases(plan, data, reason);
}

/* Are these run arguments valid? Their addresses go to data[], by tensor. */
static vjp_status check_run(const vjp_plan *plan, const void *const *inputs, void *const *outputs,
                            const void *workspace, size_t workspace_size, char **data,
                            vjpi_reason reason)
{
    vjp_status status;
    if (!plan || !inputs || !outputs)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s is NULL",
                           !plan ? "plan" : !inputs ? "inputs" : "outputs");
    int32_t ninputs = plan->op->info.ninputs;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        data[i] = NULL;
        if (vjpi_has(plan->facts, i)) /* drops const: kernels do not write inputs */
            data[i] = i < ninputs ? (char *)(uintptr_t)inputs[i] : outputs[i - ninputs];
    }
    status = check_addresses(plan, data, reason);
    if (status != VJP_OK)
        return status;
    if (plan->workspace_size > 0 && (!workspace || workspace_size < plan->workspace_size))
        return vjpi_refuse(reason, VJP_BAD_WORKSPACE, "workspace: %zu bytes, %zu are needed",
                           workspace ? workspace_size : 0, plan->workspace_size);
    for (int32_t i = 0; plan->labels >> i != 0 && status == VJP_OK; i++)
        if (plan->labels >> i & 1)
            status = check_labels(plan, i, data[i], reason);
    return status;
}

vjp_status vjp_plan_check(const vjp_plan *plan, const void *const *inputs, void *const *outputs,
                          const void *workspace, size_t workspace_size, char *text,
                          size_t text_size)
{
    char *data[VJPI_MAX_TENSORS];
    return check_run(plan, inputs, outputs, workspace, workspace_size, data,
                     vjpi_reason_begin(text, text_size));
}

vjp_status vjp_plan_run(const vjp_plan *plan, const void *const *inputs, void *const *outputs,
                        void *workspace, size_t workspace_size, void *stream)
{
    const vjpi_reason unsaid = { NULL, 0 };
    char *data[VJPI_MAX_TENSORS];
    vjp_status status =
        check_run(plan, inputs, outputs, workspace, workspace_size, data, unsaid);
    if (status != VJP_OK)
        return status;
    return plan->ctx->backend->run(plan->ctx, plan->state, data, workspace, stream);
}

static vjp_status run_once(vjp_plan *plan, const void *const *inputs, void *const *outputs,
                           vjpi_reason reason)
{
    const vjpi_backend *backend = plan->ctx->backend;
    size_t size = plan->workspace_size;
    void *workspace = size > 0 ? backend->allocate(plan->ctx, size) : NULL;
    char *data[VJPI_MAX_TENSORS];
    vjp_status status;
    if (size > 0 && !workspace)
        return vjpi_refuse(reason, VJP_NO_MEMORY, "no memory for a workspace of %zu bytes", size);
    status = check_run(plan, inputs, outputs, workspace, size, data, reason);
    if (status == VJP_OK) {
        status = backend->run(plan->ctx, plan->state, data, workspace, NULL);
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
                       const vjp_tensor *const *tensors, int32_t ntensors,
                       const void *const *inputs, void *const *outputs, char *text,
                       size_t text_size)
{
    vjp_plan *plan = NULL;
    vjp_status status = VJP_OK;
    if (!ctx)
        status = vjpi_default_context(&ctx, vjpi_reason_begin(text, text_size));
    if (status == VJP_OK)
        status = vjp_plan_create(ctx, op, attrs, nattrs, tensors, ntensors, &plan, text,
                                 text_size);
    if (status == VJP_OK)
        status = run_once(plan, inputs, outputs, vjpi_reason_begin(text, text_size));
    vjp_plan_destroy(plan);
    return status;
}
