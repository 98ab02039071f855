/* SPDX-License-Identifier: Apache-2.0 */
/* named.c - see named.h. */
#include "named.h"

#include "base.h"
#include "kinds.h"

static void lay_out(named_layout layout, vjp_tensor *tensor)
{
    int64_t *strides = tensor->strides, *shape = tensor->shape;
    if (layout == NAMED_BROADCAST)
        for (int32_t d = 0; d < tensor->ndim; d++)
            strides[d] = 0;
    if (layout == NAMED_SWAPPED) {
        strides[0] = strides[1];
        strides[1] = strides[0] * shape[0];
    }
    if (layout == NAMED_CHANNELS_LAST) {
        if (tensor->ndim != 4)
            broken("only images have channels last");
        strides[1] = 1;
        strides[2] = shape[3] * shape[1];
        strides[3] = shape[1];
    }
}

static int has_data_shape(const vjp_op_info *op, int32_t tensor)
{
    return vjp_op_tensor(op, tensor)->shape_rule == VJP_SHAPE_DATA;
}

int32_t named_tensor(const vjp_op_info *op)
{
    int32_t lead = kind_lead(op);
    return has_data_shape(op, lead) ? lead : 0;
}

void named_lay_out(problem *p, named_layout layout)
{
    int32_t input = named_tensor(p->op), output = p->op->ninputs;
    lay_out(layout, &p->tensors[input]);
    if (layout == NAMED_IN_PLACE && has_data_shape(p->op, output))
        problem_share(p, output, input);
}

problem named_problem_build(const named_problem *named)
{
    problem p = problem_start(named->op);
    for (int32_t i = 0; i < named->nattrs; i++)
        problem_add_attr(&p, named->attrs[i]);
    problem_contiguous(&p, named->dtype, named->wide, named->ndim, named->shape, named->slope_ndim,
                       named->slope_shape);
    named_lay_out(&p, named->layout);
    return p;
}
