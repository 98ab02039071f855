/* SPDX-License-Identifier: Apache-2.0 */
/* test_edges_sums.c - edge values of the operators that sum (PReLU, SoftMax), and tensors with
 * no elements or no dims, for all.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "contexts.h"
#include "dtypes.h"
#include "kinds.h"
#include "trial.h"
#include "unit.h"
#include "values.h"
#include "variants.h"

static void expect_element(const trial *t, const char *tensor, int64_t index, double wanted)
{
    double got = trial_get(t, problem_tensor(&t->p, tensor), index);
    if (!value_same(wanted, got))
        fail_msg("%s %s: %s[%d] is %a, not %a", t->p.op->name,
                 vjp_dtype_name(t->p.tensors[0].dtype), tensor, (int)index, got, wanted);
}

/* ---- prelu -------------------------------------------------------------------------------- */

enum {
    PLACES = 41
};

/* One slope for all of PLACES elements; src and diff_dst repeat the few values given. */
typedef struct prelu_case {
    double src[3], slope, diff_dst[3];
    int64_t count; /* how many of the three are used */
} prelu_case;

typedef void (*prelu_look)(const trial *t, const prelu_case *c);

static void prelu_everywhere(prelu_case c, prelu_look look)
{
    for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++)
        for (int isa = 0; isa < ISAS; isa++) {
            problem p = problem_start("prelu_backward");
            trial t;
            if (isa_contexts[isa] == NULL)
                continue;
            problem_contiguous(&p, all_dtypes[d], all_dtypes[d], 1, (int64_t[]){ PLACES }, 1,
                               (int64_t[]){ 1 });
            trial_open(&t, &p, (uint64_t)isa);
            trial_set(&t, 0, c.src, c.count);
            trial_set(&t, 1, &c.slope, 1);
            trial_set(&t, 2, c.diff_dst, c.count);
            trial_run(&t, isa_contexts[isa], 0xa5);
            look(&t, &c);
            trial_close(&t);
        }
}

static void diff_src_is_slope_times_diff_dst(const trial *t, const prelu_case *c)
{
    for (int64_t i = 0; i < PLACES; i++)
        expect_element(t, "diff_src", i, c->slope * c->diff_dst[i % c->count]);
}

static void prelu_at_zero_takes_the_slope(void **state)
{
    (void)state;
    prelu_everywhere((prelu_case){ { 0.0, -0.0 }, 0.25, { 8, -8 }, 2 },
                     diff_src_is_slope_times_diff_dst);
    prelu_everywhere((prelu_case){ { 0.0, -0.0 }, -2, { 0.0, -0.0 }, 2 },
                     diff_src_is_slope_times_diff_dst);
}

static void diff_src_follows_the_slope_and_diff_slope_is_nan(const trial *t, const prelu_case *c)
{
    diff_src_is_slope_times_diff_dst(t, c);
    expect_element(t, "diff_slope", 0, NAN);
}

static void prelu_of_nan_takes_the_slope_and_poisons_its_gradient(void **state)
{
    (void)state;
    prelu_everywhere((prelu_case){ { NAN }, 0.5, { 4 }, 1 },
                     diff_src_follows_the_slope_and_diff_slope_is_nan);
    prelu_everywhere((prelu_case){ { -1, NAN, -2 }, 0.5, { 4, 1, 2 }, 3 },
                     diff_src_follows_the_slope_and_diff_slope_is_nan);
}

static void diff_src_passes_and_diff_slope_is_plus_zero(const trial *t, const prelu_case *c)
{
    for (int64_t i = 0; i < PLACES; i++)
        expect_element(t, "diff_src", i, c->diff_dst[i % c->count]);
    expect_element(t, "diff_slope", 0, 0.0);
}

static void prelu_above_zero_does_not_see_the_slope(void **state)
{
    (void)state;
    const double slopes[] = { NAN, INFINITY, 0, -3 };
    for (int64_t i = 0; i < COUNT_OF(slopes); i++)
        prelu_everywhere((prelu_case){ { 1, INFINITY, 0.5 }, slopes[i], { 3, -0.0, -2 }, 3 },
                         diff_src_passes_and_diff_slope_is_plus_zero);
}

static void prelu_above_zero_leaves_diff_slope_plus_zero_for_any_gradient(void **state)
{
    (void)state;
    prelu_everywhere((prelu_case){ { 1, 2, 3 }, 0.5, { INFINITY, NAN, -INFINITY }, 3 },
                     diff_src_passes_and_diff_slope_is_plus_zero);
}

static void diff_slope_is_minus_infinity(const trial *t, const prelu_case *c)
{
    diff_src_is_slope_times_diff_dst(t, c);
    expect_element(t, "diff_slope", 0, -INFINITY);
}

static void prelu_sums_infinities(void **state)
{
    (void)state;
    prelu_everywhere((prelu_case){ { -INFINITY, -1 }, 0.5, { 2, 4 }, 2 },
                     diff_slope_is_minus_infinity);
    prelu_everywhere((prelu_case){ { -1, -INFINITY, -1 }, 0.5, { 2, -2, INFINITY }, 3 },
                     diff_src_follows_the_slope_and_diff_slope_is_nan);
}

/* ---- softmax ------------------------------------------------------------------------------ */

enum {
    ROWS = 3,
    COLUMNS = 37,
    POISONED = 1
};

static void check_only_one_row_is_nan(const trial *t, int axis)
{
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        int64_t row = axis == 1 ? i / COLUMNS : i % ROWS;
        double got = trial_get(t, problem_tensor(&t->p, "diff_src"), i);
        if (!isnan(got) != (row != POISONED))
            fail_msg("axis %d: diff_src[%d] is %g", axis, (int)i, got);
    }
}

static void a_nan_in_a_row(int axis, int32_t input, vjp_dtype dtype, vjp_context *ctx)
{
    problem p = problem_start("softmax_backward");
    double values[ROWS * COLUMNS];
    trial t;
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = 0.25;
    values[axis == 1 ? POISONED * COLUMNS + 30 : 30 * ROWS + POISONED] = NAN;
    problem_add_attr(&p, vjp_attr_s64("axis", axis));
    problem_contiguous(&p, dtype, dtype, 2,
                       axis == 1 ? (int64_t[]){ ROWS, COLUMNS } : (int64_t[]){ COLUMNS, ROWS }, 0,
                       NULL);
    problem_drop_inputs(&p);
    trial_open(&t, &p, 0);
    trial_set(&t, 1 - input, (double[]){ 0.5 }, 1);
    trial_set(&t, input, values, ROWS * COLUMNS);
    trial_run(&t, ctx, 0xa5);
    check_only_one_row_is_nan(&t, axis);
    trial_close(&t);
}

static void softmax_nan_poisons_its_row_only(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        for (int64_t d = 0; isa_contexts[isa] != NULL && d < COUNT_OF(all_dtypes); d++)
            for (int axis = 0; axis < 2; axis++)
                for (int32_t input = 0; input < 2; input++)
                    a_nan_in_a_row(axis, input, all_dtypes[d], isa_contexts[isa]);
}

static void softmax_of_a_single_class_has_no_gradient(void **state)
{
    (void)state;
    problem p = problem_start("softmax_backward");
    trial t;
    problem_add_attr(&p, vjp_attr_s64("axis", 1));
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 19, 1 }, 0, NULL);
    problem_drop_inputs(&p);
    trial_open(&t, &p, 0);
    trial_set(&t, 0, (double[]){ 5, -7, 1e30 }, 3);
    trial_set(&t, 1, (double[]){ 1 }, 1);
    trial_run(&t, isa_contexts[0], 0xa5);
    for (int64_t i = 0; i < 19; i++)
        assert_true(trial_get(&t, problem_tensor(&p, "diff_src"), i) == 0);
    trial_close(&t);
}

/* ---- intermediate overflow ------------------------------------------------------------------ */

/* 64 terms of +-size that cancel. The partial sums are of every 32nd term and so of one sign. f16
 * computes in f32, which has room. */
static void check_cancelling_terms(vjp_dtype dtype, vjp_context *ctx, double size, int overflows)
{
    problem p = problem_start("prelu_backward");
    trial t;
    problem_contiguous(&p, dtype, dtype, 1, (int64_t[]){ 64 }, 1, (int64_t[]){ 1 });
    trial_open(&t, &p, 0);
    trial_set(&t, 0, (double[]){ -1 }, 1);
    trial_set(&t, 1, (double[]){ 0.25 }, 1);
    trial_set(&t, 2, (double[]){ size, -size }, 2);
    trial_run(&t, ctx, 0xa5);
    if (overflows)
        assert_false(isfinite(trial_get(&t, 4, 0)));
    else
        trial_check(&t);
    trial_close(&t);
}

/* Rows of two whose difference of diff_dst and the sum is 2 * size, times a tiny dst. */
static void check_far_difference(vjp_dtype dtype, vjp_context *ctx, double size, int overflows)
{
    problem p = problem_start("softmax_backward");
    trial t;
    problem_contiguous(&p, dtype, dtype, 2, (int64_t[]){ 19, 2 }, 0, NULL);
    problem_drop_inputs(&p);
    trial_open(&t, &p, 0);
    trial_set(&t, 0, (double[]){ size, -size }, 2);
    trial_set(&t, 1, (double[]){ 0x1p-10, 1 }, 2);
    trial_run(&t, ctx, 0xa5);
    if (!overflows)
        trial_check(&t);
    for (int64_t i = 0; overflows && i < 19; i++)
        assert_true(trial_get(&t, problem_tensor(&p, "diff_src"), 2 * i) == INFINITY);
    trial_close(&t);
}

static void a_sum_that_overflows_on_the_way_is_not_finite(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        for (int64_t d = 0; isa_contexts[isa] != NULL && d < COUNT_OF(all_dtypes); d++) {
            vjp_dtype dtype = all_dtypes[d];
            double most = dtype_max(dtype);
            check_cancelling_terms(dtype, isa_contexts[isa], most, dtype != VJP_F16);
            check_far_difference(dtype, isa_contexts[isa], most, dtype != VJP_F16);
        }
}

/* As long as the magnitudes add up to less than half the largest number, nothing can overflow. */
static void a_sum_with_room_keeps_its_bound(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        for (int64_t d = 0; isa_contexts[isa] != NULL && d < COUNT_OF(all_dtypes); d++) {
            double most = dtype_max(all_dtypes[d]);
            check_cancelling_terms(all_dtypes[d], isa_contexts[isa], most / 128, 0);
            check_far_difference(all_dtypes[d], isa_contexts[isa], most / 4, 0);
        }
}

static void the_stated_bounds_of_sums_say_so(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int32_t b = 0; b < vjp_op_at(i)->nbounds; b++) {
            const vjp_bound_info *bound = vjp_op_bound(vjp_op_at(i), b);
            if (bound->magnitude != NULL && strstr(bound->text, "overflows") == NULL)
                fail_msg("%s: %s", vjp_op_at(i)->name, bound->text);
        }
}

/* ---- no elements, no dims ----------------------------------------------------------------- */

static bool has_labels(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (strcmp(vjp_op_tensor(op, t)->name, "label") == 0)
            return true;
    return false;
}

static void every_operator_accepts_tensors_without_elements(void **state)
{
    (void)state;
    const int64_t shapes[][3] = { { 0, 3, 2 }, { 2, 0, 3 }, { 3, 2, 0 }, { 0, 0, 0 } };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t s = 0; s < COUNT_OF(shapes); s++) {
            problem p = variant_problem(vjp_op_at(op), 0);
            const void *inputs[PROBLEM_TENSORS] = { NULL };
            void *outputs[PROBLEM_TENSORS] = { NULL };
            float rows[PROBLEM_TENSORS][16] = { { 0 } }; /* a row of no elements has outputs */
            char reason[VJP_REASON_SIZE] = "";
            vjp_plan *plan = NULL;
            problem_contiguous(&p, VJP_F32, VJP_F32, 3, shapes[s], 3, shapes[s]);
            if (tensor_count(&p.tensors[0]) == 0 && has_labels(p.op))
                continue; /* no label of a row without classes is in range */
            for (int32_t i = 0; i < p.ntensors; i++) {
                void *data = tensor_count(&p.tensors[i]) > 0 ? rows[i] : NULL;
                if (i < p.op->ninputs)
                    inputs[i] = data;
                else
                    outputs[i - p.op->ninputs] = data;
            }
            assert_status(VJP_OK, problem_create(&p, isa_contexts[0], &plan, reason), reason);
            char workspace[4096];
            assert_true(vjp_plan_workspace_size(plan) <= sizeof workspace);
            assert_status(VJP_OK, vjp_plan_run(plan, inputs, outputs, workspace, sizeof workspace,
                                               NULL), p.op->name);
            vjp_plan_destroy(plan);
        }
}

static void check_empty_prelu(vjp_dtype dtype, int32_t slope_ndim, const int64_t *slope_shape,
                              int in_place)
{
    problem p = problem_start("prelu_backward");
    trial t;
    problem_contiguous(&p, dtype, dtype, 2, (int64_t[]){ 0, 5 }, slope_ndim, slope_shape);
    if (in_place)
        problem_share(&p, 4, 1);
    trial_open(&t, &p, 0);
    trial_run(&t, isa_contexts[0], 0xa5);
    for (int64_t i = 0, n = tensor_count(&p.tensors[4]); i < n; i++)
        expect_element(&t, "diff_slope", i, 0.0);
    trial_close(&t);
}

static void a_slope_beside_no_elements_has_a_gradient_of_plus_zero(void **state)
{
    (void)state;
    for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++)
        for (int in_place = 0; in_place < 2; in_place++) {
            check_empty_prelu(all_dtypes[d], 1, (int64_t[]){ 5 }, in_place);
            check_empty_prelu(all_dtypes[d], 1, (int64_t[]){ 1 }, in_place);
            check_empty_prelu(all_dtypes[d], 0, NULL, in_place);
            check_empty_prelu(all_dtypes[d], 2, (int64_t[]){ 1, 5 }, in_place);
            check_empty_prelu(all_dtypes[d], 2, (int64_t[]){ 1, 1 }, in_place);
        }
}

static void every_elementwise_operator_accepts_a_scalar(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        problem p = variant_problem(vjp_op_at(op), 0);
        trial t;
        if (kind_has_rows(p.op))
            continue;
        problem_contiguous(&p, VJP_F32, VJP_F32, 0, NULL, 0, NULL);
        for (int isa = 0; isa < ISAS; isa++) {
            if (isa_contexts[isa] == NULL)
                continue;
            trial_open(&t, &p, (uint64_t)isa);
            trial_run(&t, isa_contexts[isa], 0xa5);
            trial_check(&t);
            trial_close(&t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prelu_at_zero_takes_the_slope),
        cmocka_unit_test(prelu_of_nan_takes_the_slope_and_poisons_its_gradient),
        cmocka_unit_test(prelu_above_zero_does_not_see_the_slope),
        cmocka_unit_test(prelu_above_zero_leaves_diff_slope_plus_zero_for_any_gradient),
        cmocka_unit_test(prelu_sums_infinities),
        cmocka_unit_test(softmax_nan_poisons_its_row_only),
        cmocka_unit_test(softmax_of_a_single_class_has_no_gradient),
        cmocka_unit_test(a_sum_that_overflows_on_the_way_is_not_finite),
        cmocka_unit_test(a_sum_with_room_keeps_its_bound),
        cmocka_unit_test(the_stated_bounds_of_sums_say_so),
        cmocka_unit_test(every_operator_accepts_tensors_without_elements),
        cmocka_unit_test(a_slope_beside_no_elements_has_a_gradient_of_plus_zero),
        cmocka_unit_test(every_elementwise_operator_accepts_a_scalar),
    };
    return cmocka_run_group_tests(tests, isa_contexts_open, isa_contexts_close);
}
