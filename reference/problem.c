/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - see problem.h. */
#include "problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "kinds.h"

problem problem_start(const char *op)
{
    problem p;
    memset(&p, 0, sizeof p);
    p.op = vjp_op_find(op);
    if (p.op == NULL)
        broken("the library has no operator %s", op);
    p.ntensors = p.op->ninputs + p.op->noutputs;
    if (p.ntensors > PROBLEM_TENSORS)
        broken("%s has more than %d tensors", op, PROBLEM_TENSORS);
    for (int32_t t = 0; t < p.ntensors; t++)
        p.home[t] = t;
    return p;
}

void problem_add_attr(problem *p, vjp_attr attr)
{
    if (p->nattrs == PROBLEM_ATTRS)
        broken("%s has more than %d attributes", p->op->name, PROBLEM_ATTRS);
    p->attrs[p->nattrs++] = attr;
}

vjp_attr problem_attr(const problem *p, const char *name)
{
    for (int32_t i = 0; i < p->nattrs; i++)
        if (strcmp(p->attrs[i].name, name) == 0)
            return p->attrs[i].type == VJP_ATTR_F32 ? vjp_attr_f64(name, p->attrs[i].value.f32)
                                                    : p->attrs[i];
    for (int32_t i = 0; i < p->op->nattrs; i++)
        if (strcmp(vjp_op_attr(p->op, i)->name, name) == 0)
            return vjp_op_attr(p->op, i)->default_value;
    broken("%s has no attribute %s", p->op->name, name);
}

vjp_dtype problem_dtype(const problem *p, int32_t tensor, vjp_dtype dtype, vjp_dtype wide)
{
    switch (vjp_op_tensor(p->op, tensor)->dtype_rule) {
    case VJP_DTYPE_WIDE:
        return dtype_is_16_bit(dtype) ? wide : dtype;
    case VJP_DTYPE_ANY:
        return wide;
    case VJP_DTYPE_STAT:
        return dtype == VJP_F64 ? VJP_F64 : VJP_F32;
    case VJP_DTYPE_INDEX:
        return VJP_S64;
    case VJP_DTYPE_MASK:
        return VJP_U8;
    default:
        return dtype;
    }
}

/* The first and the last of the dims that rows run along. */
static int32_t find_axis(const problem *p, int32_t ndim, int32_t *last)
{
    const vjp_attr_info *info = kind_attr(p->op, ROLE_AXIS);
    int32_t axis = (int32_t)problem_attr(p, info->name).value.s64;
    axis += axis < 0 ? ndim : 0;
    *last = info->role == VJP_ROLE_AXES ? ndim - 1 : axis;
    return axis;
}

int32_t problem_row_shape(const problem *p, int32_t ndim, const int64_t *shape, int keeps_dims,
                          int64_t row_shape[VJP_MAX_DIMS])
{
    int32_t last, axis = find_axis(p, ndim, &last), n = 0;
    for (int32_t d = 0; d < ndim; d++) {
        int along = d >= axis && d <= last;
        if (!along || keeps_dims)
            row_shape[n++] = along ? 1 : shape[d];
    }
    return n;
}

int32_t problem_axis_shape(const problem *p, int32_t ndim, const int64_t *shape,
                           int64_t axis_shape[VJP_MAX_DIMS])
{
    int32_t last, axis = find_axis(p, ndim, &last), n = 0;
    for (int32_t d = axis; d <= last; d++)
        axis_shape[n++] = shape[d];
    return n;
}

int problem_channels_first(const problem *p)
{
    int first = 0, applies = 1;
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        if (info->role == VJP_ROLE_FORMAT)
            first = strcmp(problem_attr(p, info->name).value.str, "NCX") == 0;
        if (info->role == VJP_ROLE_CHANNELS)
            applies = problem_attr(p, info->name).value.b;
    }
    return first && applies;
}

void problem_contiguous(problem *p, vjp_dtype dtype, vjp_dtype wide, int32_t ndim,
                        const int64_t *shape, int32_t param_ndim, const int64_t *param_shape)
{
    for (int32_t t = 0; t < p->ntensors; t++) {
        const vjp_tensor_info *info = vjp_op_tensor(p->op, t);
        vjp_dtype own = problem_dtype(p, t, dtype, wide);
        int64_t row_shape[VJP_MAX_DIMS];
        vjp_status status;
        if (info->shape_rule == VJP_SHAPE_ROW)
            status = vjp_tensor_contiguous(own, problem_row_shape(p, ndim, shape, 0, row_shape),
                                           row_shape, &p->tensors[t]);
        else if (info->shape_rule == VJP_SHAPE_PARAM)
            status = vjp_tensor_contiguous(own, param_ndim, param_shape, &p->tensors[t]);
        else
            status = vjp_tensor_contiguous(own, ndim, shape, &p->tensors[t]);
        if (status != VJP_OK)
            broken("%s: %s", info->name, vjp_status_string(status));
    }
}

void problem_drop(problem *p, int32_t tensor)
{
    p->absent |= 1u << tensor;
}

void problem_drop_inputs(problem *p)
{
    for (int32_t t = 0; t < p->op->ninputs; t++)
        if (vjp_op_tensor(p->op, t)->flags & VJP_TENSOR_OPTIONAL)
            problem_drop(p, t);
}

int problem_has(const problem *p, int32_t tensor)
{
    return !(p->absent >> tensor & 1);
}

void problem_share(problem *p, int32_t output, int32_t input)
{
    p->tensors[input] = p->tensors[output];
    p->home[output] = p->home[input];
}

int32_t problem_tensor(const problem *p, const char *name)
{
    for (int32_t t = 0; t < p->ntensors; t++)
        if (strcmp(vjp_op_tensor(p->op, t)->name, name) == 0)
            return t;
    broken("%s has no tensor %s", p->op->name, name);
}

size_t problem_workspace_limit(const problem *p)
{
    size_t bytes = 0, rows = 0;
    int64_t row_shape[VJP_MAX_DIMS];
    for (int32_t i = 0; i < p->op->ninputs; i++)
        if (problem_has(p, i))
            bytes += (size_t)tensor_count(&p->tensors[i]) * vjp_dtype_size(p->tensors[i].dtype);
    if (kind_has_rows(p->op)) {
        int32_t ndim =
            problem_row_shape(p, p->tensors[0].ndim, p->tensors[0].shape, 0, row_shape);
        rows = 1;
        for (int32_t d = 0; d < ndim; d++)
            rows *= (size_t)row_shape[d];
    }
    size_t limit = bytes / 16 > 128 * rows ? bytes / 16 : 128 * rows;
    return limit > 256 << 10 ? limit : 256 << 10;
}

vjp_status problem_create(const problem *p, vjp_context *ctx, vjp_plan **plan, char *reason)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    for (int32_t t = 0; t < p->ntensors; t++)
        tensors[t] = problem_has(p, t) ? &p->tensors[t] : NULL;
    return vjp_plan_create(ctx, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors, plan,
                           reason, reason != NULL ? VJP_REASON_SIZE : 0);
}

typedef struct writer {
    char *text;
    size_t used;
} writer;

static void say(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(w->text + w->used, PROBLEM_TEXT - w->used, format, arguments);
    va_end(arguments);
    w->used += n < 0 ? 0 : (size_t)n;
    if (w->used > PROBLEM_TEXT - 1)
        w->used = PROBLEM_TEXT - 1;
}

static void say_attr(writer *w, const vjp_attr *attr)
{
    switch (attr->type) {
    case VJP_ATTR_BOOL:
        say(w, " %s=%s", attr->name, attr->value.b ? "true" : "false");
        return;
    case VJP_ATTR_S64:
        say(w, " %s=%" PRId64, attr->name, attr->value.s64);
        return;
    case VJP_ATTR_F32:
        say(w, " %s=%a", attr->name, (double)attr->value.f32);
        return;
    case VJP_ATTR_F64:
        say(w, " %s=%a", attr->name, attr->value.f64);
        return;
    default:
        say(w, " %s=%s", attr->name, attr->value.str);
        return;
    }
}

static void say_numbers(writer *w, const char *before, const int64_t *numbers, int32_t n)
{
    say(w, "%s", before);
    for (int32_t i = 0; i < n; i++)
        say(w, "%s%" PRId64, i > 0 ? "," : "", numbers[i]);
    say(w, ")");
}

const char *problem_describe(const problem *p, char text[PROBLEM_TEXT])
{
    writer w = { text, 0 };
    say(&w, "%s", p->op != NULL ? p->op->name : "no operator");
    for (int32_t i = 0; i < p->nattrs; i++)
        say_attr(&w, &p->attrs[i]);
    for (int32_t t = 0; t < p->ntensors; t++) {
        const vjp_tensor *tensor = &p->tensors[t];
        if (!problem_has(p, t)) {
            say(&w, "\n  no %s", vjp_op_tensor(p->op, t)->name);
            continue;
        }
        say(&w, "\n  %s %s", vjp_op_tensor(p->op, t)->name, vjp_dtype_name(tensor->dtype));
        say_numbers(&w, " shape (", tensor->shape, tensor->ndim);
        say_numbers(&w, " strides (", tensor->strides, tensor->ndim);
        if (p->home[t] != t)
            say(&w, " at the address of %s", vjp_op_tensor(p->op, p->home[t])->name);
    }
    return text;
}

int tensor_same_shape(const vjp_tensor *a, const vjp_tensor *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

int64_t tensor_count(const vjp_tensor *tensor)
{
    int64_t count = walk_tensor(tensor).more; /* 0 first: the other dims may say anything */
    for (int32_t d = 0; count > 0 && d < tensor->ndim; d++)
        count *= tensor->shape[d];
    return count;
}

void tensor_extent(const vjp_tensor *tensor, int64_t *lowest, int64_t *highest)
{
    *lowest = *highest = 0;
    if (tensor_count(tensor) == 0)
        return;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] == 1)
            continue;
        int64_t reach = (tensor->shape[d] - 1) * tensor->strides[d];
        *(reach < 0 ? lowest : highest) += reach;
    }
}

walk walk_start(int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    walk w = { 1, 0, ndim, shape, strides, { 0 } };
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] == 0)
            w.more = 0;
    return w;
}

walk walk_tensor(const vjp_tensor *tensor)
{
    return walk_start(tensor->ndim, tensor->shape, tensor->strides);
}

void walk_carry(walk *w)
{
    for (int32_t d = w->ndim - 1; d >= 0; d--) {
        if (w->shape[d] == 1)
            continue;
        if (++w->index[d] < w->shape[d]) {
            w->offset += w->strides[d];
            return;
        }
        w->offset -= (w->shape[d] - 1) * w->strides[d];
        w->index[d] = 0;
    }
    w->more = 0;
}
