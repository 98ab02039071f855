/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - see cases.h. A problem is drawn in order: shape, attributes, parameters' shape,
 * tensors, layouts, sharing. Layouts of outputs are one-to-one by construction; those of inputs
 * need not be. */
#include "cases.h"

#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "kinds.h"
#include "oracle.h"

typedef struct shape {
    int32_t ndim;
    int64_t dims[VJP_MAX_DIMS];
} shape;

/* ---- shapes ------------------------------------------------------------------------------- */

static const int64_t telling_sizes[] = { 1,  2,  3,  5,  7,   8,   9,    15,   16,   17,  31,
                                         33, 63, 64, 65, 127, 129, 1023, 1024, 1025, 4097 };

static int32_t draw_rank(random_state *random, int32_t least)
{
    /* Low ranks are what people use; the high ones only have to work. */
    int32_t rank = (int32_t)(random_chance(random, 70) ? random_below(random, 6)
                                                       : random_below(random, VJP_MAX_DIMS + 1));
    return rank < least ? least : rank;
}

static shape draw_shape(random_state *random, int32_t least_rank, int64_t room)
{
    shape s = { draw_rank(random, least_rank), { 0 } };
    int32_t order[VJP_MAX_DIMS];
    int64_t usual = room > CASE_SMALL ? 16 : 10; /* how many of telling_sizes, from the first */
    for (int32_t d = 0; d < s.ndim; d++)
        order[d] = d;
    random_shuffle(random, order, s.ndim);
    for (int32_t i = 0; i < s.ndim; i++) {
        int64_t most = i == 0 ? COUNT_OF(telling_sizes) : s.ndim > 6 ? 3 : usual;
        int64_t dim = telling_sizes[random_below(random, most)];
        s.dims[order[i]] = dim <= room ? dim : 1;
        room /= s.dims[order[i]];
    }
    if (s.ndim > 0 && random_chance(random, 4))
        s.dims[random_below(random, s.ndim)] = 0;
    return s;
}

static shape param_right_aligned(random_state *random, const shape *data)
{
    int32_t least = data->ndim < 2 ? data->ndim : 2;
    shape s = { (int32_t)random_between(random, least, data->ndim), { 0 } };
    int keep = (int)random_between(random, 0, 2) * 50;
    for (int32_t d = 0; d < s.ndim; d++)
        s.dims[d] = random_chance(random, keep) ? data->dims[data->ndim - s.ndim + d] : 1;
    return s;
}

/* The dim that a 1-D parameter runs along. */
static int32_t param_dim(const problem *p, const shape *data)
{
    const vjp_attr_info *axis = kind_attr(p->op, ROLE_AXIS);
    if (axis != NULL) {
        int32_t dim = (int32_t)problem_attr(p, axis->name).value.s64;
        dim += dim < 0 ? data->ndim : 0;
        return axis->role == VJP_ROLE_AXES ? data->ndim - 1 : dim;
    }
    return problem_channels_first(p) && data->ndim > 1 ? 1 : data->ndim - 1;
}

static shape draw_param_shape(random_state *random, const problem *p, const shape *data)
{
    shape s = { 0, { 0 } };
    int64_t rule = random_below(random, 6);
    if (rule == 0 || data->ndim == 0) {
        s.ndim = (int32_t)random_below(random, 2);
        s.dims[0] = 1;
    } else if (rule <= 2 || data->ndim == 1) {
        s.ndim = 1;
        s.dims[0] = data->dims[param_dim(p, data)];
    } else if (rule == 3 && data->ndim > 2) {
        s.ndim = data->ndim - 1;
        memcpy(s.dims, data->dims + 1, (size_t)s.ndim * sizeof s.dims[0]);
    } else if (rule == 4) {
        s = *data;
    } else {
        s = param_right_aligned(random, data);
    }
    return s;
}

/* ---- attributes --------------------------------------------------------------------------- */

static const char *draw_choice(random_state *random, const vjp_attr_info *info)
{
    int32_t n = 0;
    while (kind_choice(info, n) != NULL)
        n++;
    return kind_choice(info, (int32_t)random_below(random, n));
}

/* A number that an attribute with a default may have: none is negative. */
static double draw_number(random_state *random, int required)
{
    static const double any[] = { 0.2, 0.5, 1.0 / 6, 0, 1, -0.25, 3, 1e-3 };
    static const double usual[] = { 0.2, 0.5, 1.0 / 6, 0, 1, 0.75, 1e-3, 0.125 };
    return (required ? any : usual)[random_below(random, COUNT_OF(any))];
}

/* Equal elements have no norm at an epsilon of 0, and what their rounding errors give instead
 * depends on the order of additions. */
static double draw_constant(random_state *random, const vjp_attr_info *info)
{
    double number = draw_number(random, info->required);
    return number == 0 && strcmp(info->name, "epsilon") == 0 ? 1e-5 : number;
}

static vjp_attr draw_attr(random_state *random, const vjp_attr_info *info, const shape *data)
{
    static const int64_t labels[] = { -100, -1, 0, 3, 255 };
    switch (info->type) {
    case VJP_ATTR_BOOL:
        return vjp_attr_bool(info->name, (int32_t)random_below(random, 2));
    case VJP_ATTR_STR:
        return vjp_attr_str(info->name, draw_choice(random, info));
    case VJP_ATTR_S64:
        if (info->role == VJP_ROLE_IGNORED)
            return vjp_attr_s64(info->name, labels[random_below(random, COUNT_OF(labels))]);
        return vjp_attr_s64(info->name, random_between(random, -data->ndim, data->ndim - 1));
    default:
        if (random_chance(random, 50))
            return vjp_attr_f32(info->name, (float)draw_constant(random, info));
        return vjp_attr_f64(info->name, draw_constant(random, info));
    }
}

static void draw_each_attr(random_state *random, problem *p, const shape *data)
{
    p->nattrs = 0;
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        int default_fits = !info->required && (kind_attr_role(info) != ROLE_AXIS ||
                                               info->default_value.value.s64 < data->ndim);
        if (!default_fits || random_chance(random, 70))
            problem_add_attr(p, draw_attr(random, info, data));
    }
}

/* Whether the operator takes these attributes together, as the library says. */
static int attrs_are_accepted(const problem *p, const shape *data)
{
    problem probe = *p;
    char reason[VJP_REASON_SIZE];
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    problem_contiguous(&probe, VJP_F32, VJP_F32, data->ndim, data->dims, 0, NULL);
    vjp_status status = vjp_context_create(NULL, &ctx, NULL, 0);
    if (status == VJP_OK)
        status = problem_create(&probe, ctx, &plan, reason);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
    return status != VJP_BAD_ATTRIBUTE;
}

static void draw_attrs(random_state *random, problem *p, const shape *data)
{
    do
        draw_each_attr(random, p, data);
    while (kind_attr(p->op, ROLE_CONSTANT) != NULL && !attrs_are_accepted(p, data));
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* What a tensor may have of its own: integers of either size, row shapes of either kind, a dtype
 * that is not wide beside others that are. */
static void draw_tensor(random_state *random, problem *p, int32_t t, vjp_dtype dtype)
{
    const vjp_tensor_info *info = vjp_op_tensor(p->op, t);
    vjp_tensor *tensor = &p->tensors[t];
    shape own = { tensor->ndim, { 0 } };
    vjp_dtype stored = tensor->dtype;
    memcpy(own.dims, tensor->shape, sizeof own.dims);
    if (info->shape_rule == VJP_SHAPE_ROW && random_chance(random, 50))
        own.ndim = problem_row_shape(p, p->tensors[0].ndim, p->tensors[0].shape, 1, own.dims);
    if (info->dtype_rule == VJP_DTYPE_INDEX && random_chance(random, 50))
        stored = VJP_S32;
    if (info->dtype_rule == VJP_DTYPE_WIDE && random_chance(random, 20))
        stored = dtype;
    if (vjp_tensor_contiguous(stored, own.ndim, own.dims, tensor) != VJP_OK)
        broken("%s of %s cannot be described", info->name, p->op->name);
}

/* Optional inputs are left out every other time, outputs less often and never all of them. */
static void draw_absent(random_state *random, problem *p)
{
    int32_t left = p->op->noutputs;
    for (int32_t t = 0; t < p->ntensors; t++) {
        int is_output = t >= p->op->ninputs;
        if (!(vjp_op_tensor(p->op, t)->flags & VJP_TENSOR_OPTIONAL) || (is_output && left == 1) ||
            !random_chance(random, is_output ? 20 : 50))
            continue;
        problem_drop(p, t);
        left -= is_output;
    }
}

/* ---- layouts ------------------------------------------------------------------------------ */

enum {
    PERMUTED = 1,
    REVERSED = 2,
    PADDED = 4,
    BROADCAST = 8
};

/* One-to-one strides: dims nested in a random memory order, some run backwards, some padded. */
static void draw_strides(random_state *random, int kinds, vjp_tensor *tensor)
{
    int32_t order[VJP_MAX_DIMS];
    int64_t step = kinds & PADDED ? random_between(random, 1, 3) : 1;
    for (int32_t d = 0; d < tensor->ndim; d++)
        order[d] = tensor->ndim - 1 - d;
    if (kinds & PERMUTED)
        random_shuffle(random, order, tensor->ndim);
    for (int32_t i = 0; i < tensor->ndim; i++) {
        int32_t d = order[i];
        int64_t dim = tensor->shape[d];
        int repeat = (kinds & BROADCAST) && random_chance(random, 40);
        tensor->strides[d] = repeat ? 0 : step;
        if (!repeat)
            step *= dim > 0 ? dim : 1;
        if ((kinds & PADDED) && random_chance(random, 40))
            step += random_between(random, 1, 5);
        if ((kinds & REVERSED) && random_chance(random, 50))
            tensor->strides[d] = -tensor->strides[d];
        /* A stride that is never used may be anything. */
        if (dim == 1 && random_chance(random, 30))
            tensor->strides[d] = random_between(random, -1000000007, 1000000007);
    }
}

/* An input whose elements overlap each other, like the windows of a convolution. */
static void draw_overlapping_strides(random_state *random, vjp_tensor *tensor)
{
    for (int32_t d = 0; d < tensor->ndim; d++)
        tensor->strides[d] = random_between(random, -2, 3);
}

/* Channels-last memory under channels-first indices: dim 1 is the fastest. */
static void channels_last_strides(vjp_tensor *tensor)
{
    int64_t step = tensor->ndim > 1 ? tensor->shape[1] : 1;
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
        if (d == 1)
            continue;
        tensor->strides[d] = step;
        step *= tensor->shape[d];
    }
    if (tensor->ndim > 1)
        tensor->strides[1] = 1;
}

static void draw_layout(random_state *random, int is_input, vjp_tensor *tensor)
{
    int64_t kind = random_below(random, 10);
    if (kind < 3)
        return;
    if (kind == 3)
        channels_last_strides(tensor);
    else if (kind == 4 && is_input)
        draw_overlapping_strides(random, tensor);
    else if (kind < 8)
        draw_strides(random, 1 << random_below(random, is_input ? 4 : 3), tensor);
    else
        draw_strides(random, (int)random_below(random, is_input ? 16 : 8), tensor);
}

static void draw_layouts(random_state *random, problem *p)
{
    int64_t style = random_below(random, 10);
    if (style < 2)
        return;
    for (int32_t t = p->ntensors - 1; t >= 0; t--) {
        vjp_tensor *tensor = &p->tensors[t];
        const vjp_tensor *last = &p->tensors[p->ntensors - 1];
        if (style < 4 && tensor != last && tensor_same_shape(tensor, last))
            memcpy(tensor->strides, last->strides, sizeof last->strides);
        else
            draw_layout(random, t < p->op->ninputs && !oracle_is_saved(p, t), tensor);
    }
}

/* ---- sharing ------------------------------------------------------------------------------ */

static int is_row(const problem *p, int32_t t)
{
    return vjp_op_tensor(p->op, t)->shape_rule == VJP_SHAPE_ROW;
}

static int may_share(const problem *p, int32_t output, int32_t input)
{
    if (!problem_has(p, output) || !problem_has(p, input) || is_row(p, input) || is_row(p, output))
        return 0;
    for (int32_t t = p->op->ninputs; t < p->ntensors; t++)
        if (t != output && p->home[t] == p->home[input])
            return 0;
    return p->tensors[input].dtype == p->tensors[output].dtype &&
           tensor_same_shape(&p->tensors[input], &p->tensors[output]);
}

/* From the last input to the first, so that the home of all is the first of them. */
static void share_with_all(problem *p, int32_t output)
{
    for (int32_t input = p->op->ninputs - 1; input >= 0; input--) {
        int32_t home = p->home[output];
        if (!may_share(p, output, input))
            continue;
        problem_share(p, output, input);
        for (int32_t t = 0; t < p->op->ninputs; t++)
            if (p->home[t] == home)
                p->home[t] = p->home[output];
    }
}

static void draw_sharing(random_state *random, problem *p)
{
    for (int32_t output = p->op->ninputs; output < p->ntensors; output++) {
        int64_t kind = random_below(random, 8);
        int32_t input = (int32_t)random_below(random, p->op->ninputs);
        if (kind < 3 && may_share(p, output, input))
            problem_share(p, output, input);
        else if (kind == 3)
            share_with_all(p, output);
    }
}

/* ---- problems ----------------------------------------------------------------------------- */

problem case_draw_within(const char *op, vjp_dtype dtype, vjp_dtype wide, uint64_t number,
                         int64_t most_elements)
{
    problem p = problem_start(op);
    uint64_t stream = number * 16 + (uint64_t)dtype * 2 + (dtype != wide);
    random_state random = random_start(random_seed(), stream);
    shape data = draw_shape(&random, kind_has_rows(p.op), most_elements), param = data;
    draw_attrs(&random, &p, &data);
    if (kind_has_params(p.op))
        param = draw_param_shape(&random, &p, &data);
    problem_contiguous(&p, dtype, wide, data.ndim, data.dims, param.ndim, param.dims);
    for (int32_t t = 0; t < p.ntensors; t++)
        draw_tensor(&random, &p, t, dtype);
    draw_absent(&random, &p);
    draw_layouts(&random, &p);
    draw_sharing(&random, &p);
    return p;
}

problem case_draw(const char *op, vjp_dtype dtype, vjp_dtype wide, uint64_t number)
{
    return case_draw_within(op, dtype, wide, number, CASE_SMALL);
}

int32_t case_dtypes_of(const char *op, case_dtypes pairs[CASE_DTYPES])
{
    const vjp_op_info *info = vjp_op_find(op);
    int32_t n = 0, wide = 0, any = 0;
    for (int32_t t = 0; t < info->ninputs + info->noutputs; t++) {
        wide |= vjp_op_tensor(info, t)->dtype_rule == VJP_DTYPE_WIDE;
        any |= vjp_op_tensor(info, t)->dtype_rule == VJP_DTYPE_ANY;
    }
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
        pairs[n++] = (case_dtypes){ all_dtypes[i], all_dtypes[i] };
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++) {
        if (!dtype_is_16_bit(all_dtypes[i]))
            continue;
        if (wide || any)
            pairs[n++] = (case_dtypes){ all_dtypes[i], VJP_F32 };
        if (any)
            pairs[n++] = (case_dtypes){ VJP_F32, all_dtypes[i] };
    }
    return n;
}
