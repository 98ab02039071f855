/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - see plans.h. */
#include "plans.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

static const char addresses[CUDA_KERNELS];

int64_t cuda_kernel_number(const void *kernel)
{
    return (const char *)kernel - addresses;
}

/* As kernels_of in kernels.cu: NULL is what an operator of this kind never launches. */
static vjpi_cuda_kernels fake_kernels(vjpi_op_kind kind)
{
    vjpi_cuda_kernels k, none = { .flat = NULL };
    const void *at[CUDA_KERNELS];
    for (int64_t i = 0; i < CUDA_KERNELS; i++)
        at[i] = &addresses[i];
    memcpy(&k, at, sizeof k);
    if (kind == VJPI_FOLD) {
        memcpy(k.map, none.map, sizeof k.map);
        memcpy(k.turned, none.turned, sizeof k.turned);
    }
    if (kind != VJPI_MAP)
        k.flat = NULL;
    if (kind != VJPI_ROW) {
        memcpy(k.row, none.row, sizeof k.row);
        memcpy(k.longer, none.longer, sizeof k.longer);
        memcpy(k.column, none.column, sizeof k.column);
    }
    if (kind == VJPI_MAP) {
        memcpy(k.along, none.along, sizeof k.along);
        memcpy(k.across, none.across, sizeof k.across);
        k.join = NULL;
    }
    return k;
}

void cuda_case_open(cuda_case *c, const problem *p, int32_t most_cluster)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    char text[VJP_REASON_SIZE] = "";
    memset(c, 0, sizeof *c);
    c->p = p;
    for (int32_t t = 0; t < p->ntensors; t++)
        tensors[t] = &p->tensors[t];
    assert_status(VJP_OK,
                  vjpi_check(p->op->name, p->attrs, p->nattrs, tensors, p->ntensors, &c->call,
                             vjpi_reason_begin(text, sizeof text)),
                  text);
    c->kernels = fake_kernels(c->call.op->kind);
    c->plan.kernels = &c->kernels;
    c->plan.most_cluster = most_cluster;
    vjpi_cuda_prepare(&c->call, &c->plan, &c->workspace_size);
}

static void lay_out(vjp_tensor *tensor, int layout)
{
    int64_t step = 1;
    for (int32_t d = 0; d < tensor->ndim && layout == CUDA_TURNED; d++) {
        tensor->strides[d] = step;
        step *= tensor->shape[d];
    }
    if (layout == CUDA_BACKWARD && tensor->ndim > 0)
        tensor->strides[tensor->ndim - 1] *= -1;
    if (layout == CUDA_PADDED && tensor->ndim > 0)
        tensor->strides[0] += 16;
    if (layout == CUDA_REPEATED)
        memset(tensor->strides, 0, sizeof tensor->strides);
}

problem cuda_problem(const char *op, case_dtypes dtypes, int32_t ndim, const int64_t *shape,
                     int32_t rule, int layout)
{
    problem drawn = case_draw(op, dtypes.dtype, dtypes.wide, 0), p = problem_start(op);
    int64_t one = 1, slope_ndim = rule < 2 || rule > ndim ? 1 : rule;
    const int64_t *slope = rule == 1 && ndim > 1 ? shape + 1 : shape + ndim - slope_ndim;
    for (int32_t i = 0; i < p.op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p.op, i);
        if (info->type == VJP_ATTR_S64)
            problem_add_attr(&p, vjp_attr_s64(info->name, rule % ndim));
        else if (info->type == VJP_ATTR_STR)
            problem_add_attr(&p, vjp_attr_str(info->name, rule == 0 ? "NXC" : "NCX"));
        else
            problem_add_attr(&p, problem_attr(&drawn, info->name));
    }
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, ndim, shape, (int32_t)slope_ndim,
                       rule > ndim ? &one : slope);
    lay_out(&p.tensors[p.op->ninputs - (layout < CUDA_LAYOUTS)], layout % CUDA_LAYOUTS);
    return p;
}

void cuda_fail(const cuda_case *c, const char *what, int64_t number)
{
    char text[PROBLEM_TEXT];
    fail_msg("%s (%" PRId64 "), clusters of %d, seed %" PRIu64 ":\n%s", what, number,
             (int)c->plan.most_cluster, random_seed(), problem_describe(c->p, text));
    abort(); /* not reached */
}

bool cuda_partials_fit(const cuda_case *c, const vjpi_cuda_launch *l)
{
    int64_t partials = l->loop.nsegments * l->loop.nouts * c->plan.nsums * c->plan.compute_size;
    return l->loop.nsegments <= 1 ||
           (size_t)(c->plan.rowsums_size + partials + c->plan.compute_size - 1) <=
               c->workspace_size;
}
