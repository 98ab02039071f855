/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.c - see refusal.h. */
#include "refusal.h"

#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "kinds.h"
#include "samples.h"
#include "unit.h"
#include "variants.h"

vjp_context *refusal_context;

int refusal_open(void **state)
{
    (void)state;
    return vjp_context_create(NULL, &refusal_context, NULL, 0) == VJP_OK ? 0 : -1;
}

int refusal_close(void **state)
{
    (void)state;
    vjp_context_destroy(refusal_context);
    return 0;
}

void check_reason(const char *reason, words wanted)
{
    for (int i = 0; i < 4 && wanted.of[i] != NULL; i++)
        if (strstr(reason, wanted.of[i]) == NULL)
            fail_msg("\"%s\" is not in the reason \"%s\"", wanted.of[i], reason);
}

vjp_plan *const NOT_A_PLAN = (vjp_plan *)(intptr_t)-1;

void refused(const problem *p, vjp_status status, words wanted)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NOT_A_PLAN;
    assert_status(status, problem_create(p, refusal_context, &plan, reason), reason);
    assert_null(plan);
    check_reason(reason, wanted);
}

problem accepted(problem p)
{
    char reason[VJP_REASON_SIZE] = "?";
    vjp_plan *plan = NULL;
    assert_status(VJP_OK, problem_create(&p, refusal_context, &plan, reason), reason);
    assert_non_null(plan);
    assert_string_equal(reason, "");
    vjp_plan_destroy(plan);
    return p;
}

/* The first operator with that many inputs and outputs, and one attribute, of that role. */
static problem start(int32_t ninputs, int32_t noutputs, attr_role role)
{
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        if (op->ninputs == ninputs && op->noutputs == noutputs && op->nattrs == 1 &&
            kind_attr(op, role) != NULL)
            return problem_start(op->name);
    }
    fail_msg("no operator has %d inputs and %d outputs", (int)ninputs, (int)noutputs);
    abort(); /* not reached */
}

problem refusal_any(const vjp_op_info *op)
{
    return case_draw(op->name, VJP_F32, VJP_F32, 0);
}

problem refusal_map(void)
{
    problem p = start(2, 1, ROLE_SWITCH);
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 2, 5 }, 0, NULL);
    return accepted(p);
}

problem refusal_row(int64_t axis)
{
    problem p = problem_start(SAMPLE_ROWS);
    problem_add_attr(&p, vjp_attr_s64("axis", axis));
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 2, 5 }, 0, NULL);
    problem_drop_inputs(&p);
    return p;
}

problem refusal_fold(const char *format, int64_t params)
{
    problem p = start(3, 2, ROLE_CHANNELS);
    problem_add_attr(&p, vjp_attr_str(kind_attr(p.op, ROLE_CHANNELS)->name, format));
    problem_contiguous(&p, VJP_F32, VJP_F32, 3, (int64_t[]){ 2, 5, 7 }, 1, &params);
    return p;
}

problem refusal_shaped(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape)
{
    problem p = variant_problem(op, 0);
    int64_t row_shape[VJP_MAX_DIMS];
    int64_t param_shape[VJP_MAX_DIMS] = { shape[ndim - 1] };
    int32_t row_ndim = 0;
    if (kind_has_rows(op)) {
        row_ndim = problem_row_shape(&p, ndim, shape, 0, row_shape);
        problem_axis_shape(&p, ndim, shape, param_shape);
    }
    for (int32_t t = 0; t < p.ntensors; t++) {
        vjp_tensor *tensor = &p.tensors[t];
        const vjp_shape_rule rule = vjp_op_tensor(op, t)->shape_rule;
        const int64_t *dims = rule == VJP_SHAPE_ROW     ? row_shape
                              : rule == VJP_SHAPE_PARAM ? param_shape
                                                        : shape;
        uint64_t step = 1;
        *tensor = (vjp_tensor){ .struct_size = sizeof *tensor };
        tensor->dtype = problem_dtype(&p, t, dtype, dtype);
        tensor->ndim = rule == VJP_SHAPE_ROW ? row_ndim : rule == VJP_SHAPE_PARAM ? 1 : ndim;
        for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
            tensor->shape[d] = dims[d];
            tensor->strides[d] = (int64_t)step;
            step *= (uint64_t)dims[d];
        }
    }
    return p;
}
