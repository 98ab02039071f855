/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - where rows, their ends and their parameters are; see oracle.h. */
#include <string.h>

#include "kinds.h"
#include "oracle.h"

/* The first dim that rows run along; -1: there are no rows. *last: the last one. */
static int32_t first_axis(const problem *p, int32_t *last)
{
    const vjp_attr_info *info = kind_attr(p->op, ROLE_AXIS);
    *last = -1;
    if (info == NULL)
        return -1;
    int32_t ndim = p->tensors[0].ndim, axis = (int32_t)problem_attr(p, info->name).value.s64;
    axis += axis < 0 ? ndim : 0;
    *last = info->role == VJP_ROLE_AXES ? ndim - 1 : axis;
    return axis;
}

void oracle_param_strides(const problem *p, int32_t tensor, int64_t strides[VJP_MAX_DIMS])
{
    const vjp_tensor *data = &p->tensors[0], *param = &p->tensors[tensor];
    int32_t last, axis = first_axis(p, &last);
    memset(strides, 0, VJP_MAX_DIMS * sizeof strides[0]);
    if (param->ndim == 1 && param->shape[0] != 1) {
        int ncx = problem_channels_first(p);
        strides[axis >= 0 && axis == last ? axis : ncx && data->ndim > 1 ? 1 : data->ndim - 1] = 1;
        return;
    }
    int64_t step = 1;
    for (int32_t d = param->ndim - 1; d >= 0; d--) {
        if (param->shape[d] != 1)
            strides[data->ndim - param->ndim + d] = step;
        step *= param->shape[d];
    }
}

static int64_t product(const int64_t *dims, int32_t first, int32_t behind)
{
    int64_t count = 1;
    for (int32_t d = first; d < behind; d++)
        count *= dims[d];
    return count;
}

int64_t oracle_row_count(const problem *p)
{
    const vjp_tensor *data = &p->tensors[0];
    int32_t last, axis = first_axis(p, &last);
    if (axis < 0)
        return tensor_count(data);
    int64_t before = product(data->shape, 0, axis);
    return before > 0 ? before * product(data->shape, last + 1, data->ndim) : 0;
}

int64_t oracle_row_length(const problem *p)
{
    int32_t last, axis = first_axis(p, &last);
    return axis < 0 ? 1 : product(p->tensors[0].shape, axis, last + 1);
}

/* The row's place among its neighbours: its index along the last dim that is not the axis. */
static int64_t causal_end(const problem *p, int64_t row, int64_t n)
{
    const vjp_tensor *data = &p->tensors[0];
    int32_t last, axis = first_axis(p, &last), dim = data->ndim - 1;
    if (data->ndim == 1)
        return n;
    dim -= dim == axis;
    int64_t end = row % data->shape[dim] + 1 + n - data->shape[dim];
    return end < 0 ? 0 : end < n ? end : n;
}

/* Does the label say that the row is left out? */
static int is_ignored(const problem *p, double label, int64_t n)
{
    const vjp_attr_info *lenient = kind_attr(p->op, ROLE_LENIENT);
    int in_range = label >= 0 && label < (double)n;
    return label == (double)problem_attr(p, kind_attr(p->op, ROLE_IGNORED)->name).value.s64 ||
           (!in_range && problem_attr(p, lenient->name).value.b);
}

static int64_t clamp(double end, int64_t n)
{
    return end > 0 ? end < (double)n ? (int64_t)end : n : 0;
}

oracle_row oracle_row_at(const problem *p, const double *const *inputs, int64_t index)
{
    const vjp_tensor *data = &p->tensors[0];
    int32_t last, axis = first_axis(p, &last);
    oracle_row row = { index, index, 1, 1, 1, 0 };
    if (axis < 0)
        return row;
    int64_t inner = product(data->shape, last + 1, data->ndim);
    row.n = row.end = oracle_row_length(p);
    row.start = index / inner * row.n * inner + index % inner;
    row.step = inner;
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        uint32_t flags = vjp_op_tensor(p->op, t)->flags;
        if ((flags & VJP_TENSOR_END) && problem_has(p, t))
            row.end = clamp(inputs[t][index], row.n);
        if (flags & VJP_TENSOR_LABEL)
            row.ignored = is_ignored(p, inputs[t][index], row.n);
    }
    const vjp_attr_info *causal = kind_attr(p->op, ROLE_CAUSAL);
    if (causal != NULL && problem_attr(p, causal->name).value.b) {
        int64_t end = causal_end(p, index, row.n);
        row.end = end < row.end ? end : row.end;
    }
    return row;
}
