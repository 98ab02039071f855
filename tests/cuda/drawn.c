/* SPDX-License-Identifier: Apache-2.0 */
/* drawn.c - see drawn.h. */
#include "drawn.h"

#include <math.h>
#include <string.h>

/* ---- attributes --------------------------------------------------------------------------- */

static void add_attr(drawn *d, vjp_attr attr)
{
    d->attrs[d->nattrs++] = attr;
}

/* The second of two words. */
static const char *second_word(const vjp_attr_info *info)
{
    return strchr(info->choices, '|') + 1;
}

static void draw_attr(const vjp_attr_info *info, random_state *random, drawn *d)
{
    double number = (double)random_below(random, 100) / 64;
    switch (info->role) {
    case VJP_ROLE_AXIS:
    case VJP_ROLE_AXES:
        d->axis = random_chance(random, 50) ? d->ndim - 1 : (int32_t)random_below(random, d->ndim);
        d->last_axis = info->role == VJP_ROLE_AXES ? d->ndim - 1 : d->axis;
        add_attr(d, vjp_attr_s64(info->name, d->axis));
        break;
    case VJP_ROLE_CONSTANT:
        if (info->required || random_chance(random, 50))
            add_attr(d, vjp_attr_f64(info->name, number));
        break;
    case VJP_ROLE_IGNORED:
        d->ignored = random_below(random, 3);
        add_attr(d, vjp_attr_s64(info->name, d->ignored));
        break;
    default:
        if (info->type == VJP_ATTR_BOOL)
            add_attr(d, vjp_attr_bool(info->name, (int32_t)random_below(random, 2)));
        else if (info->type == VJP_ATTR_STR && random_chance(random, 50))
            add_attr(d, vjp_attr_str(info->name, second_word(info)));
    }
}

static int has_attr(const drawn *d, const char *word)
{
    for (int32_t i = 0; i < d->nattrs; i++)
        if (d->attrs[i].type == VJP_ATTR_STR && strcmp(d->attrs[i].value.str, word) == 0)
            return 1;
    return 0;
}

/* ---- tensors ------------------------------------------------------------------------------ */

static vjp_dtype draw_dtype(const drawn *d, const vjp_tensor_info *info, random_state *random)
{
    int narrow = d->dtype == VJP_F16 || d->dtype == VJP_BF16, other = random_chance(random, 50);
    switch (info->dtype_rule) {
    case VJP_DTYPE_WIDE:
        return narrow && other ? VJP_F32 : d->dtype;
    case VJP_DTYPE_ANY:
        if (d->dtype == VJP_F32 && other)
            return random_chance(random, 50) ? VJP_F16 : VJP_BF16;
        return narrow && other ? VJP_F32 : d->dtype;
    case VJP_DTYPE_STAT:
        return d->dtype == VJP_F64 ? VJP_F64 : VJP_F32;
    case VJP_DTYPE_INDEX:
        return other ? VJP_S32 : VJP_S64;
    case VJP_DTYPE_MASK:
        return VJP_U8;
    default:
        return d->dtype;
    }
}

static void add_dim(vjp_tensor *tensor, int64_t n)
{
    tensor->shape[tensor->ndim++] = n;
}

static void shape_row(const drawn *d, random_state *random, vjp_tensor *tensor)
{
    int keeps_dims = random_chance(random, 50);
    for (int32_t i = 0; i < d->ndim; i++) {
        int along = i >= d->axis && i <= d->last_axis;
        if (!along || keeps_dims)
            add_dim(tensor, along ? 1 : d->shape[i]);
    }
}

/* rule 0: one for all; 1: the axis or the channels; 2: some dims; 3: the data's shape. */
static void shape_param(const drawn *d, int64_t rule, random_state *random, vjp_tensor *tensor)
{
    int32_t channels = d->ndim > 1 && has_attr(d, "NCX") ? 1 : d->ndim - 1;
    if (rule == 0 || d->ndim == 0) {
        add_dim(tensor, 1);
    } else if (rule == 1 && d->axis == d->last_axis) {
        add_dim(tensor, d->shape[d->axis >= 0 ? d->axis : channels]);
    } else {
        for (int32_t i = rule == 1 ? d->axis : 0; i < d->ndim; i++)
            add_dim(tensor, rule == 2 && random_chance(random, 50) ? 1 : d->shape[i]);
    }
}

/* The input that an output is the gradient of, if that is given. */
static const vjp_tensor *partner_of(const drawn *d, const char *name)
{
    int32_t i = strncmp(name, "diff_", 5) == 0 ? vjp_op_tensor_index(d->op, name + 5) : -1;
    return i >= 0 && i < d->op->ninputs ? d->given[i] : NULL;
}

/* style 0: dense; 1: the other order; 2, 3: padded; 4: a dim backwards; 5: an input repeats a dim;
 * 6: every second element; 7: the last two dims exchanged. */
static void draw_layout(int64_t style, int is_input, random_state *random, vjp_tensor *tensor)
{
    int64_t step = style == 6 ? 2 : 1, some;
    int32_t n = tensor->ndim;
    for (int32_t i = 0; i < n; i++) {
        int32_t dim = style == 1 ? i : n - 1 - i;
        if (style == 7 && n > 1 && i < 2)
            dim = n - 2 + i;
        tensor->strides[dim] = step;
        step *= tensor->shape[dim] > 0 ? tensor->shape[dim] : 1;
        step += style == 2 && i == 0 ? 16 : style == 3 ? random_below(random, 3) : 0;
    }
    if (n == 0)
        return;
    some = random_below(random, n);
    if (style == 4)
        tensor->strides[some] *= -1;
    if (style == 5 && is_input)
        tensor->strides[some] = 0;
}

static void draw_tensor(int32_t i, int64_t param_rule, int64_t style, random_state *random,
                        drawn *d)
{
    const vjp_tensor_info *info = vjp_op_tensor(d->op, i);
    vjp_tensor *tensor = &d->tensors[i];
    const vjp_tensor *partner = partner_of(d, info->name);
    tensor->struct_size = sizeof *tensor;
    tensor->dtype = draw_dtype(d, info, random);
    if (info->shape_rule == VJP_SHAPE_ROW) {
        shape_row(d, random, tensor);
    } else if (info->shape_rule == VJP_SHAPE_PARAM && partner) {
        tensor->ndim = partner->ndim;
        memcpy(tensor->shape, partner->shape, sizeof tensor->shape);
    } else if (info->shape_rule == VJP_SHAPE_PARAM) {
        shape_param(d, param_rule, random, tensor);
    } else {
        tensor->ndim = d->ndim;
        memcpy(tensor->shape, d->shape, sizeof tensor->shape);
    }
    draw_layout(style, i < d->op->ninputs, random, tensor);
    if (!(info->flags & VJP_TENSOR_OPTIONAL) || random_chance(random, 60))
        d->given[i] = tensor;
}

/* Some outputs in place of inputs: those take their layout. */
static void draw_places(random_state *random, drawn *d)
{
    for (int32_t i = d->op->ninputs; i < d->ntensors; i++) {
        int32_t input = (int32_t)random_below(random, d->op->ninputs);
        vjp_tensor *from = &d->tensors[input], *to = &d->tensors[i];
        int fits = d->given[i] && d->given[input] && from->dtype == to->dtype &&
                   from->ndim == to->ndim &&
                   memcmp(from->shape, to->shape, sizeof from->shape) == 0 &&
                   vjp_op_tensor(d->op, i)->shape_rule != VJP_SHAPE_ROW;
        for (int32_t j = d->op->ninputs; j < i; j++)
            fits = fits && d->home[j] != input;
        if (!fits || random_chance(random, 60))
            continue;
        memcpy(from->strides, to->strides, sizeof to->strides);
        d->home[i] = input;
    }
}

void draw_call(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape,
               random_state *random, drawn *d)
{
    int64_t rule = random_below(random, 4), style = random_below(random, 8);
    int64_t alike = random_chance(random, 70);
    memset(d, 0, sizeof *d);
    d->op = op;
    d->dtype = dtype;
    d->ndim = ndim;
    d->ntensors = op->ninputs + op->noutputs;
    d->axis = d->last_axis = -1;
    d->length = 1;
    d->ignored = -100;
    memcpy(d->shape, shape, (size_t)ndim * sizeof shape[0]);
    style = random_chance(random, 50) ? 0 : style;
    for (int32_t a = 0; a < op->nattrs; a++)
        draw_attr(vjp_op_attr(op, a), random, d);
    for (int32_t i = d->axis; i >= 0 && i <= d->last_axis; i++)
        d->length *= shape[i];
    for (int32_t i = 0; i < d->ntensors; i++) {
        d->home[i] = -1;
        draw_tensor(i, rule, alike ? style : random_below(random, 8), random, d);
    }
    d->given[d->ntensors - 1] = &d->tensors[d->ntensors - 1]; /* some output is wanted */
    draw_places(random, d);
}

double draw_value(const drawn *d, int32_t i, random_state *random)
{
    const vjp_tensor_info *info = vjp_op_tensor(d->op, i);
    if (info->flags & VJP_TENSOR_LABEL)
        return (double)(random_chance(random, 20)
                            ? d->ignored
                            : random_below(random, d->length > 0 ? d->length : 1));
    if (info->flags & VJP_TENSOR_END)
        return (double)random_between(random, -3, d->length + 3);
    if (info->dtype_rule == VJP_DTYPE_MASK)
        return (double)(random_chance(random, 25) ? 0 : random_below(random, 256));
    if (info->shape_rule == VJP_SHAPE_ROW)
        return 0.5 + (double)random_below(random, 256) / 256;
    if (random_below(random, 500) == 0)
        return (double)-INFINITY;
    if (d->axis < 0 && random_below(random, 16) == 0) /* where formulas take their rare branches */
        return (double)random_between(random, -512, 512);
    return (double)random_between(random, -512, 512) / 128;
}
