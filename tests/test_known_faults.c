/* SPDX-License-Identifier: Apache-2.0 */
/* test_known_faults.c - faults that gradient kernels of other frameworks had, one test for each,
 * named after the report. Each is tested with every operator and tensor that it applies to.
 * docs/reliability.md describes the faults.
 */
#include <string.h>

#include "kinds.h"
#include "refusal.h"
#include "trial.h"
#include "unit.h"
#include "variants.h"

enum {
    ROWS = 4,
    COLUMNS = 6
};

static const int64_t plain_shape[] = { ROWS, COLUMNS };

/* plain - the operator on dense f32 of (4, 6), with a slope for each of the 6. */
static problem plain(int32_t op)
{
    const int64_t channels = COLUMNS;
    problem p = variant_problem(vjp_op_at(op), 0);
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, plain_shape, 1, &channels);
    return p;
}

static const char *name_of(const problem *p, int32_t tensor)
{
    return vjp_op_tensor(p->op, tensor)->name;
}

/* reshaped - the same problem, but one tensor is dense of this shape. */
static problem reshaped(problem p, int32_t tensor, int32_t ndim, const int64_t *shape)
{
    assert_status(VJP_OK, vjp_tensor_contiguous(p.tensors[tensor].dtype, ndim, shape,
                                                &p.tensors[tensor]), NULL);
    return p;
}

/* A tensor of another shape is refused. It is named, unless it is the one that the others are
 * compared with. vjp_compute refuses it too, and writes nothing. */
static void other_shape_refused(const problem *p, int32_t tensor)
{
    static float memory[PROBLEM_TENSORS][64], untouched[PROBLEM_TENSORS][64];
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    refused(p, VJP_BAD_SHAPE, tensor > 0 ? WORDS(name_of(p, tensor)) : WORDS(":"));
    for (int32_t i = 0; i < p->ntensors; i++) {
        tensors[i] = &p->tensors[i];
        data[i] = memory[i];
    }
    vjp_status status = vjp_compute(refusal_context, p->op->name, p->attrs, p->nattrs, tensors,
                                    p->ntensors, (const void *const *)data, data + p->op->ninputs,
                                    NULL, 0);
    assert_status(VJP_BAD_SHAPE, status, NULL);
    assert_memory_equal(memory, untouched, sizeof memory);
}

/* Each tensor in turn, each dim of it one longer and one shorter, and all of it with other dims of
 * the same product. */
static void tensorflow_cve_2021_37674_gradients_of_another_shape(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t t = 0; t < plain(op).ntensors; t++) {
            problem p = plain(op);
            const vjp_tensor *tensor = &p.tensors[t];
            for (int32_t d = 0; d < tensor->ndim; d++)
                for (int64_t change = -1; change <= 1; change += 2) {
                    int64_t shape[2] = { tensor->shape[0], tensor->shape[1] };
                    shape[d] += change;
                    problem bent = reshaped(p, t, tensor->ndim, shape);
                    other_shape_refused(&bent, t);
                }
            problem turned = reshaped(p, t, 2, (int64_t[]){ COLUMNS, ROWS });
            other_shape_refused(&turned, t);
            problem flat = reshaped(p, t, 1, (int64_t[]){ ROWS * COLUMNS });
            if (t > 0 || !kind_has_rows(p.op)) /* which has no such axis */
                other_shape_refused(&flat, t);
        }
}

/* One tensor without elements among others that have some, and the other way round, are refused.
 * None with any is fine, and a sum over no elements is 0. */
static void tensorflow_cve_2021_29580_empty_tensors(void **state)
{
    (void)state;
    const int64_t empties[][2] = { { 0, COLUMNS }, { ROWS, 0 }, { 0, 0 } };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t e = 0; e < COUNT_OF(empties); e++) {
            problem p = plain(op), empty = plain(op);
            trial t;
            problem_contiguous(&empty, VJP_F32, VJP_F32, 2, empties[e], 1, &empties[e][1]);
            for (int32_t i = 0; i < p.ntensors; i++) {
                problem one = p, all_but_one = empty;
                one.tensors[i] = empty.tensors[i];
                all_but_one.tensors[i] = p.tensors[i];
                if (tensor_same_shape(&p.tensors[i], &empty.tensors[i]))
                    continue;
                other_shape_refused(&one, i);
                other_shape_refused(&all_but_one, i);
            }
            trial_open(&t, &empty, 0);
            trial_run(&t, refusal_context, 0xa5);
            trial_check(&t);
            trial_close(&t);
        }
}

/* Products of dims that wrap around 64 bits to a negative number, to 0, and to a few elements. */
static void tensorflow_cve_2022_23575_products_of_dims_that_wrap(void **state)
{
    (void)state;
    const struct {
        int32_t ndim;
        int64_t shape[4];
    } wraps[] = {
        { 2, { INT64_C(1) << 32, INT64_C(1) << 31 } },                /* to -2^63 */
        { 2, { INT64_C(1) << 32, INT64_C(1) << 32 } },                /* to 0 */
        { 3, { INT64_C(1) << 22, INT64_C(1) << 21, INT64_C(1) << 21 } },
        { 2, { INT64_C(0x5555555555555555), 3 } },                    /* to -1 */
        { 2, { INT64_MAX, INT64_MAX } },                              /* to 1 */
        { 4, { 3, INT64_C(0x2aaaaaaaaaaaaaab), 2, 1 } },              /* to 2 */
        { 3, { 641, 6700417, INT64_C(1) << 32 } },                    /* to 2^32 */
        { 4, { 1 << 16, 1 << 16, 1 << 16, (1 << 16) + 1 } },          /* to 2^48 */
    };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t w = 0; w < COUNT_OF(wraps); w++) {
            problem p = refusal_shaped(vjp_op_at(op), VJP_F16, wraps[w].ndim, wraps[w].shape);
            refused(&p, VJP_TOO_LARGE, WORDS(name_of(&p, 0), "dim"));
            vjp_tensor before = p.tensors[0], tensor = before;
            assert_status(VJP_TOO_LARGE, vjp_tensor_contiguous(VJP_F16, wraps[w].ndim,
                                                               wraps[w].shape, &tensor), NULL);
            assert_memory_equal(&tensor, &before, sizeof before);
        }
}

/* Axes beyond either end, and those that are in range once they are cut to 32 or 8 bits. */
static void tensorflow_cve_2022_21726_axes_out_of_bounds(void **state)
{
    (void)state;
    const int64_t axes[] = { 2, 3, -3, 12, 13, 255, 256, -256, INT32_MAX, INT32_MIN,
                             INT64_C(1) << 32, (INT64_C(1) << 32) + 1, -(INT64_C(1) << 32) - 1,
                             INT64_MAX, INT64_MIN };
    int asked = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t a = 0; a < vjp_op_at(op)->nattrs; a++) {
            const vjp_attr_info *info = vjp_op_attr(vjp_op_at(op), a);
            if (kind_attr_role(info) != ROLE_AXIS)
                continue;
            for (int64_t i = 0; i < COUNT_OF(axes); i++) {
                problem p = plain(op);
                problem_add_attr(&p, vjp_attr_s64(info->name, axes[i]));
                refused(&p, VJP_BAD_ATTRIBUTE, WORDS(info->name, name_of(&p, 0), "2 dims"));
            }
            asked++;
        }
    assert_true(asked > 0);
}

/* The name of a parameter, without that of its gradient. */
static const char *param_name(const problem *p, int32_t tensor)
{
    const char *name = name_of(p, tensor);
    return strncmp(name, "diff_", 5) == 0 ? name + 5 : name;
}

static int32_t first_param(const vjp_op_info *op)
{
    int32_t t = 0;
    while (!kind_is_param(op, t))
        t++;
    return t;
}

/* Parameters of a length that is not the data's: all of them, or one alone. One element is
 * broadcast, unless the gradient has more. */
static void tensorflow_cve_2022_41897_parameters_of_another_length(void **state)
{
    (void)state;
    int asked = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t length = 0; length <= 3 * COLUMNS; length++) {
            problem all = plain(op);
            problem_contiguous(&all, VJP_F32, VJP_F32, 2, plain_shape, 1, &length);
            for (int32_t t = 0; t < all.ntensors; t++) {
                problem one = plain(op);
                if (!kind_is_param(one.op, t) || length == COLUMNS ||
                    (length == 1 && !kind_has_sums(one.op)))
                    continue;
                one.tensors[t] = all.tensors[t];
                refused(&one, VJP_BAD_SHAPE, WORDS(param_name(&one, t), "dim 0"));
                if (length != 1 && t == first_param(all.op))
                    refused(&all, VJP_BAD_SHAPE, WORDS(param_name(&all, t), "dim 0"));
                asked++;
            }
        }
    assert_true(asked > 0);
}

/* An output larger than its gradient, or of negative dims, in a description filled in directly. */
static void tensorflow_cve_2023_25664_outputs_larger_than_the_gradient(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t t = 0; t < plain(op).ntensors; t++) {
            problem p = plain(op);
            for (int32_t d = 0; d < p.tensors[t].ndim; d++) {
                problem larger = p, negative = p, both = p;
                larger.tensors[t].shape[d] *= 1000;
                other_shape_refused(&larger, t);
                negative.tensors[t].shape[d] = -COLUMNS;
                other_shape_refused(&negative, t);
                for (int32_t i = 0; i < p.tensors[t].ndim; i++) /* whose product is positive */
                    both.tensors[t].shape[i] = INT64_MIN + i;
                other_shape_refused(&both, t);
            }
        }
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t d = 0; d < 2; d++) { /* all alike, so that only the sign is wrong */
            problem p = plain(op);
            for (int32_t t = 0; t < p.ntensors; t++)
                if (p.tensors[t].ndim == 2 || d == 1)
                    p.tensors[t].shape[p.tensors[t].ndim == 2 ? d : 0] = -COLUMNS;
            refused(&p, VJP_BAD_SHAPE,
                    WORDS(name_of(&p, 0), d == 0 ? "dim 0 is -6" : "dim 1 is -6"));
        }
}

/* A parameter without a gradient may be broadcast, and a row's dim of 1 be there or not. */
static int is_allowed(const problem *p, int32_t tensor)
{
    const vjp_tensor *t = &p->tensors[tensor];
    int fits = t->ndim <= 2;
    if (vjp_op_tensor(p->op, tensor)->shape_rule == VJP_SHAPE_ROW)
        return t->ndim == 2 && t->shape[0] == ROWS && t->shape[1] == 1;
    for (int32_t d = 0; d < t->ndim && fits; d++)
        fits = t->shape[d] == 1 || t->shape[d] == plain_shape[d + 2 - t->ndim];
    return fits && kind_is_param(p->op, tensor) && !kind_has_sums(p->op);
}

/* One tensor gives the loop its bounds, and another is smaller: what would broadcast is refused as
 * well, and so is a rank that the dims do not have. */
static void pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop(void **state)
{
    (void)state;
    const int64_t small[][3] = {
        { 1, 1, 1 }, { ROWS, 1, 1 }, { 1, COLUMNS, 1 }, { 1, ROWS, COLUMNS }
    };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t t = 0; t < plain(op).ntensors; t++)
            for (int64_t s = 0; s < COUNT_OF(small); s++)
                for (int32_t ndim = 0; ndim <= 3; ndim++) {
                    problem p = plain(op), bent = reshaped(p, t, ndim, small[s]);
                    if (tensor_same_shape(&bent.tensors[t], &p.tensors[t]) ||
                        is_allowed(&bent, t) ||
                        (t == 0 && ndim < 2 && kind_has_rows(p.op))) /* which has no such axis */
                        continue;
                    other_shape_refused(&bent, t);
                }
    const int32_t ranks[] = { -1, 13, 64, INT32_MAX, INT32_MIN };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t r = 0; r < COUNT_OF(ranks); r++)
            for (int32_t t = 0; t < plain(op).ntensors; t++) {
                problem p = plain(op);
                p.tensors[t].ndim = ranks[r];
                refused(&p, VJP_BAD_SHAPE, WORDS(name_of(&p, t), "ndim"));
            }
}

/* 2^59 + 1 elements of f32 are 4 bytes if their bits are counted in 64 bits, and 2^62 + 1 are if
 * their bytes are. The first fit, and must be known for what they are: tensors 64 bytes apart
 * overlap. The second are refused. */
static void xnnpack_issue_10100_a_size_that_wraps_to_4_bytes(void **state)
{
    (void)state;
    static char memory[256];
    const int64_t wraps_in_bits = (INT64_C(1) << 59) + 1, wraps_in_bytes = (INT64_C(1) << 62) + 1;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        if (kind_has_rows(vjp_op_at(op))) /* whose axis could not be that long */
            continue;
        problem p = refusal_shaped(vjp_op_at(op), VJP_F32, 2, (int64_t[]){ 1, wraps_in_bytes });
        refused(&p, VJP_TOO_LARGE, WORDS(name_of(&p, 0), "dim 1"));
        p = accepted(refusal_shaped(vjp_op_at(op), VJP_F32, 2, (int64_t[]){ 1, wraps_in_bits }));
        vjp_plan *plan = NULL;
        char reason[VJP_REASON_SIZE];
        void *data[PROBLEM_TENSORS];
        for (int32_t t = 0; t < p.ntensors; t++)
            data[t] = memory + (t < p.op->ninputs ? 0 : 64 * (t - p.op->ninputs + 1));
        assert_status(VJP_OK, problem_create(&p, refusal_context, &plan, NULL), NULL);
        vjp_status status = vjp_plan_check(plan, (const void *const *)data, data + p.op->ninputs,
                                           memory, SIZE_MAX, reason, sizeof reason);
        assert_status(VJP_BAD_ALIAS, status, reason);
        vjp_plan_destroy(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensorflow_cve_2021_37674_gradients_of_another_shape),
        cmocka_unit_test(tensorflow_cve_2021_29580_empty_tensors),
        cmocka_unit_test(tensorflow_cve_2022_23575_products_of_dims_that_wrap),
        cmocka_unit_test(tensorflow_cve_2022_21726_axes_out_of_bounds),
        cmocka_unit_test(tensorflow_cve_2022_41897_parameters_of_another_length),
        cmocka_unit_test(tensorflow_cve_2023_25664_outputs_larger_than_the_gradient),
        cmocka_unit_test(
            pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop),
        cmocka_unit_test(xnnpack_issue_10100_a_size_that_wraps_to_4_bytes),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
