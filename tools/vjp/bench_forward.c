/* SPDX-License-Identifier: Apache-2.0 */
/* bench_forward.c - what a forward pass keeps for the gradient's: see bench.h. */
#include <string.h>

#include "bench.h"

/* ---- which -------------------------------------------------------------------------------- */

static bool has_attr(const vjp_op_info *op, const char *name)
{
    for (int32_t i = 0; i < op->nattrs; i++)
        if (!strcmp(vjp_op_attr(op, i)->name, name))
            return true;
    return false;
}

/* The tensor of that name among those from one index to another; -1: none. */
static int32_t named(const vjp_op_info *op, int32_t from, int32_t to, const char *name)
{
    for (int32_t t = from; t < to; t++)
        if (!strcmp(vjp_op_tensor(op, t)->name, name))
            return t;
    return -1;
}

/* The operator whose gradient this is, if the gradient has all its inputs; else NULL. */
static const vjp_op_info *forward_of(const vjp_op_info *op)
{
    static const char ending[] = "_backward";
    char name[BENCH_NAME];
    size_t length = strlen(op->name), tail = sizeof(ending) - 1;
    if (length <= tail || strcmp(op->name + length - tail, ending) != 0)
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)(length - tail), op->name);
    const vjp_op_info *forward = vjp_op_find(name);
    for (int32_t t = 0; forward && t < forward->ninputs; t++) {
        const vjp_tensor_info *info = vjp_op_tensor(forward, t);
        if (!(info->flags & VJP_TENSOR_OPTIONAL) && named(op, 0, op->ninputs, info->name) < 0)
            return NULL;
    }
    return forward;
}

bool bench_is_kept(const vjp_op_info *op, int32_t input)
{
    const vjp_tensor_info *info = vjp_op_tensor(op, input);
    const vjp_op_info *forward = forward_of(op);
    return forward && info->flags & VJP_TENSOR_OPTIONAL &&
           named(forward, forward->ninputs, forward->ninputs + forward->noutputs, info->name) >= 0;
}

/* ---- computing it ------------------------------------------------------------------------- */

/* The forward pass on the gradient's inputs; of what may be omitted, only what the gradient has. */
static problem problem_forward(const problem *p, const vjp_op_info *forward)
{
    problem made = problem_start(forward->name);
    const vjp_tensor *data = &p->tensors[0];
    int64_t along[VJP_MAX_DIMS];
    for (int32_t i = 0; i < forward->nattrs; i++)
        if (has_attr(p->op, vjp_op_attr(forward, i)->name))
            problem_add_attr(&made, problem_attr(p, vjp_op_attr(forward, i)->name));
    int32_t ndim = problem_axis_shape(&made, data->ndim, data->shape, along);
    problem_contiguous(&made, data->dtype, data->dtype, data->ndim, data->shape, ndim, along);
    for (int32_t t = 0; t < made.ntensors; t++) {
        const vjp_tensor_info *info = vjp_op_tensor(forward, t);
        int32_t given = named(p->op, 0, p->op->ninputs, info->name);
        if (info->flags & VJP_TENSOR_OPTIONAL && (given < 0 || !problem_has(p, given)))
            problem_drop(&made, t);
    }
    return made;
}

static vjp_status run_forward(load *l, const problem *p, vjp_plan *plan)
{
    void *buffers[PROBLEM_TENSORS] = { NULL }, *own[PROBLEM_TENSORS] = { NULL };
    void *workspace = memory_allocate(l->where, vjp_plan_workspace_size(plan));
    bool enough = workspace != NULL;
    for (int32_t t = 0; t < p->ntensors; t++) {
        int32_t given = named(l->p.op, 0, l->p.op->ninputs, vjp_op_tensor(p->op, t)->name);
        if (!problem_has(p, t))
            continue;
        if (given < 0)
            own[t] = memory_allocate(l->where, (size_t)tensor_count(&p->tensors[t]) *
                                                   vjp_dtype_size(p->tensors[t].dtype));
        buffers[t] = given < 0 ? own[t] : load_buffer(l, given);
        enough = enough && buffers[t];
    }
    vjp_status status = VJP_NO_MEMORY;
    if (enough)
        status = vjp_plan_run(plan, (const void *const *)buffers, buffers + p->op->ninputs,
                              workspace, vjp_plan_workspace_size(plan), NULL);
    for (int32_t t = 0; t < p->ntensors; t++)
        memory_free(l->where, own[t]);
    memory_free(l->where, workspace);
    return status;
}

bool load_keep(load *l, vjp_context *ctx, char reason[VJP_REASON_SIZE])
{
    bool keeps = false;
    for (int32_t t = 0; t < l->p.op->ninputs; t++)
        keeps |= problem_has(&l->p, t) && bench_is_kept(l->p.op, t);
    if (!keeps)
        return true;
    problem p = problem_forward(&l->p, forward_of(l->p.op));
    vjp_plan *plan;
    if (problem_create(&p, ctx, &plan, reason) != VJP_OK)
        return false;
    vjp_status status = run_forward(l, &p, plan);
    vjp_plan_destroy(plan);
    snprintf(reason, VJP_REASON_SIZE, "%s", status == VJP_OK ? "" : vjp_status_string(status));
    return status == VJP_OK;
}
