/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - cases of any operator: shapes and layouts, with sums where the operator has them. */
#include <string.h>

#include "base.h"
#include "kinds.h"
#include "oracle.h"
#include "values.h"
#include "vectors.h"

typedef struct layout {
    const char *name;
    int32_t ndim;
    int64_t shape[3];
    int strided;  /* the leading input and the first output are not dense */
    int specials; /* percent of NaN and infinity */
    int cancels;  /* values of the leading input come with both signs */
    int elsewhere; /* rows or channels are along another dim than usual */
    int bare;      /* without optional inputs */
} layout;

static const layout layouts[] = {
    { "rows", 2, { 3, 130, 0 }, .cancels = 1 },
    { "strided", 3, { 4, 5, 6 }, .strided = 1, .elsewhere = 1, .bare = 1 },
    { "specials", 2, { 12, 9, 0 }, .specials = 3 },
};

/* A choice other than the default. */
static const char *other_choice(const vjp_attr_info *info)
{
    const char *first = kind_choice(info, 0);
    return strcmp(first, info->default_value.value.str) == 0 ? kind_choice(info, 1) : first;
}

/* Where rows and channels are. Rows are along the last dim, channels where their default is. */
static void add_places(problem *p, const layout *l)
{
    const vjp_attr_info *axis = kind_attr(p->op, ROLE_AXIS);
    const vjp_attr_info *channels = kind_attr(p->op, ROLE_CHANNELS);
    if (axis != NULL)
        problem_add_attr(p, vjp_attr_s64(axis->name, l->elsewhere ? l->ndim - 2 : -1));
    if (channels != NULL && l->elsewhere)
        problem_add_attr(p, vjp_attr_str(channels->name, other_choice(channels)));
}

/* Backwards along the last dim, which is the slowest in memory; the first is the fastest. */
static void stride(vjp_tensor *tensor)
{
    int64_t step = 1;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        tensor->strides[d] = d == tensor->ndim - 1 ? -step : step;
        step *= tensor->shape[d];
    }
}

void drop_optional_inputs(problem *p)
{
    for (int32_t t = 0; t < p->op->ninputs; t++)
        if (vjp_op_tensor(p->op, t)->flags & VJP_TENSOR_OPTIONAL)
            problem_drop(p, t);
}

/* Masks and the ends of rows have cases of their own: hard_rows.c. */
static void drop_masks_and_ends(problem *p)
{
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        const vjp_tensor_info *info = vjp_op_tensor(p->op, t);
        if (info->dtype_rule == VJP_DTYPE_MASK || info->flags & VJP_TENSOR_END)
            problem_drop(p, t);
    }
}

/* The values of input t, in dense order. */
static double *draw_input(const problem *p, int32_t t, const layout *l, random_state *random)
{
    int64_t n = tensor_count(&p->tensors[t]);
    double *values = unit_malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = value_draw_input(random, p, t, l->specials);
    for (int64_t i = 1; i < n && l->cancels && t == kind_lead(p->op); i += 2)
        values[i] = -values[i - 1];
    return values;
}

static void layout_case(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes,
                        int64_t which)
{
    const layout *l = &layouts[which];
    random_state random = random_start(2, (uint64_t)(number * 100 + which));
    problem p = *variant;
    double *inputs[PROBLEM_TENSORS];
    add_places(&p, l);
    int64_t param[VJP_MAX_DIMS] = { l->shape[l->elsewhere ? 1 : l->ndim - 1] };
    int32_t param_ndim = kind_has_rows(p.op) ? problem_axis_shape(&p, l->ndim, l->shape, param) : 1;
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, l->ndim, l->shape, param_ndim, param);
    drop_masks_and_ends(&p);
    if (l->bare)
        drop_optional_inputs(&p);
    for (int32_t t = 0; t < p.op->ninputs; t++)
        inputs[t] = draw_input(&p, t, l, &random);
    values_save(&p, inputs);
    if (l->strided) {
        stride(&p.tensors[kind_lead(p.op)]);
        stride(&p.tensors[p.op->ninputs]);
    }
    file_add(f, &p, number, l->name, inputs);
}

void layout_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes)
{
    for (int64_t which = 0; which < COUNT_OF(layouts); which++)
        layout_case(f, variant, number, dtypes, which);
}
