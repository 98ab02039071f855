/* SPDX-License-Identifier: Apache-2.0 */
/* test_edges_rows.c - edge values of softmax, cross-entropy and norms: what is masked or behind a
 * row's end, rows with nothing left, rows with NaN or infinities, ignored labels, a mean far from
 * 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "dtypes.h"
#include "trial.h"
#include "unit.h"
#include "values.h"

enum {
    ROWS = 4,
    COLUMNS = 37
};

/* ---- a call on every instruction set, in every dtype --------------------------------------- */

typedef void (*prepare)(problem *p);
typedef void (*fill)(trial *t);
typedef void (*look)(const trial *t);

static double element(const trial *t, const char *tensor, int64_t row, int64_t column)
{
    return trial_get(t, problem_tensor(&t->p, tensor), row * COLUMNS + column);
}

static double of_row(const trial *t, const char *tensor, int64_t row)
{
    return trial_get(t, problem_tensor(&t->p, tensor), row);
}

static void expect(const trial *t, const char *what, int64_t index, double wanted, double got)
{
    if (!value_same(wanted, got))
        fail_msg("%s %s: %s of %d is %a, not %a", t->p.op->name,
                 vjp_dtype_name(t->p.tensors[0].dtype), what, (int)index, got, wanted);
}

/* Rows along the last dim; optional inputs are left out but for those that `start` adds again. */
static void everywhere(const char *op, prepare start, fill values, look check)
{
    const int64_t shape[] = { ROWS, COLUMNS }, along[] = { COLUMNS };
    for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++)
        for (int isa = 0; isa < ISAS; isa++) {
            problem p = problem_start(op);
            trial t;
            if (isa_contexts[isa] == NULL)
                continue;
            problem_add_attr(&p, vjp_attr_s64("axis", -1));
            problem_contiguous(&p, all_dtypes[d], all_dtypes[d], 2, shape, 1, along);
            problem_drop_inputs(&p);
            if (start != NULL)
                start(&p);
            trial_open(&t, &p, (uint64_t)isa);
            values(&t);
            trial_run(&t, isa_contexts[isa], 0xa5);
            check(&t);
            trial_check(&t);
            trial_close(&t);
        }
}

static void keep_input(problem *p, const char *name)
{
    p->absent &= ~(1u << problem_tensor(p, name));
}

static void set(trial *t, const char *name, const double *values, int64_t count)
{
    trial_set(t, problem_tensor(&t->p, name), values, count);
}

/* Ordinary numbers, but `odd` in the places that `is_odd` names; of an operator's data inputs
 * all. */
static void set_data(trial *t, int (*is_odd)(int64_t row, int64_t column), double odd)
{
    static const char *const names[] = { "src", "diff_dst", "dst", "a", "b" };
    double values[ROWS * COLUMNS];
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = is_odd(i / COLUMNS, i % COLUMNS) ? odd : (double)(i * 37 % 61 + 1) / 64;
    for (int64_t n = 0; n < COUNT_OF(names); n++) {
        int32_t input = vjp_op_tensor_index(t->p.op, names[n]);
        if (input >= 0 && input < t->p.op->ninputs)
            trial_set(t, input, values, ROWS * COLUMNS);
    }
}

static const char *result_of(const trial *t)
{
    return vjp_op_tensor_index(t->p.op, "diff_src") >= 0 ? "diff_src" : "dst";
}

static int has_stats(const trial *t)
{
    return vjp_op_tensor_index(t->p.op, "stats") >= 0;
}

static const char *const softmaxes[] = { "softmax", "log_softmax", "softmax_backward",
                                         "log_softmax_backward" };

/* ---- masks, lengths, causal rows ------------------------------------------------------------ */

/* Of row 0 the third element counts, of row 1 none, of the others two in three. */
static int is_masked(int64_t row, int64_t column)
{
    return row == 1 || (row == 0 ? column != 2 : column % 3 == 0);
}

static void with_mask(problem *p)
{
    int32_t mask = problem_tensor(p, "mask");
    keep_input(p, "mask");
    assert_int_equal(vjp_tensor_contiguous(VJP_U8, 2, p->tensors[0].shape, &p->tensors[mask]),
                     VJP_OK);
}

static void fill_masked(trial *t, double odd)
{
    double mask[ROWS * COLUMNS];
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        mask[i] = is_masked(i / COLUMNS, i % COLUMNS) ? 0 : 1;
    set(t, "mask", mask, ROWS * COLUMNS);
    set_data(t, is_masked, odd);
}

static void fill_masked_nan(trial *t) { fill_masked(t, NAN); }
static void fill_masked_inf(trial *t) { fill_masked(t, INFINITY); }

/* What is left out is +0, and the rest is finite. */
static void look_at_rest(const trial *t, int (*is_out)(int64_t row, int64_t column),
                         const char *what)
{
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        double got = element(t, result_of(t), i / COLUMNS, i % COLUMNS);
        if (is_out(i / COLUMNS, i % COLUMNS))
            expect(t, what, i, 0.0, got);
        else
            assert_true(isfinite(got));
    }
}

static void look_at_masked(const trial *t)
{
    look_at_rest(t, is_masked, "a masked element");
    if (has_stats(t))
        expect(t, "stats", 1, -INFINITY, of_row(t, "stats", 1));
}

static void what_is_masked_is_plus_zero_and_does_not_count(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT_OF(softmaxes); i++) {
        everywhere(softmaxes[i], with_mask, fill_masked_nan, look_at_masked);
        everywhere(softmaxes[i], with_mask, fill_masked_inf, look_at_masked);
    }
}

/* Below 0, within, beyond; of length 0. */
static const double lengths[ROWS] = { -3, 5, 1000, 0 };

static int64_t end_of(int64_t row)
{
    return lengths[row] < 0 ? 0 : lengths[row] > COLUMNS ? COLUMNS : (int64_t)lengths[row];
}

static int is_behind(int64_t row, int64_t column) { return column >= end_of(row); }

static void with_length(problem *p) { keep_input(p, "length"); }

static void fill_lengths(trial *t)
{
    set(t, "length", lengths, ROWS);
    set_data(t, is_behind, NAN);
}

static void look_at_lengths(const trial *t)
{
    look_at_rest(t, is_behind, "an element behind the end");
    for (int64_t row = 0; has_stats(t) && row < ROWS; row++)
        if (end_of(row) == 0)
            expect(t, "stats", row, -INFINITY, of_row(t, "stats", row));
}

static void what_is_behind_a_length_is_plus_zero_and_not_read(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT_OF(softmaxes); i++)
        everywhere(softmaxes[i], with_length, fill_lengths, look_at_lengths);
}

/* Bottom right: the last row is whole. */
static int is_above_diagonal(int64_t row, int64_t column) { return column > row + COLUMNS - ROWS; }

static void causal(problem *p) { problem_add_attr(p, vjp_attr_bool("causal", 1)); }
static void fill_causal(trial *t) { set_data(t, is_above_diagonal, NAN); }

static void look_at_causal(const trial *t)
{
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        double got = element(t, result_of(t), i / COLUMNS, i % COLUMNS);
        if (is_above_diagonal(i / COLUMNS, i % COLUMNS))
            expect(t, "an element above the diagonal", i, 0.0, got);
        else
            assert_true(isfinite(got));
    }
}

static void a_causal_row_ends_at_the_diagonal_at_the_bottom_right(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT_OF(softmaxes); i++)
        everywhere(softmaxes[i], causal, fill_causal, look_at_causal);
}

/* Five rows of three: the first two have nothing left. */
static void more_rows_than_columns(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT_OF(softmaxes); i++) {
        problem p = problem_start(softmaxes[i]);
        trial t;
        problem_add_attr(&p, vjp_attr_s64("axis", 1));
        causal(&p);
        problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 5, 3 }, 0, NULL);
        problem_drop_inputs(&p);
        trial_open(&t, &p, 0);
        trial_run(&t, isa_contexts[0], 0xa5);
        for (int64_t k = 0; k < 6; k++)
            expect(&t, "an element of an empty row", k, 0.0,
                   trial_get(&t, problem_tensor(&p, result_of(&t)), k));
        trial_check(&t);
        trial_close(&t);
    }
}

/* ---- rows with NaN and infinities ----------------------------------------------------------- */

static int is_one_in_row_2(int64_t row, int64_t column) { return row == 2 && column == 30; }
static int is_row_2(int64_t row, int64_t column) { return row == 2 && column >= 0; }

static void fill_nan(trial *t) { set_data(t, is_one_in_row_2, NAN); }
static void fill_inf(trial *t) { set_data(t, is_one_in_row_2, INFINITY); }
static void fill_row_of_minus_inf(trial *t) { set_data(t, is_row_2, -INFINITY); }

static void look_for_one_row_of_nan(const trial *t)
{
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        double got = element(t, result_of(t), i / COLUMNS, i % COLUMNS);
        if (!isnan(got) != (i / COLUMNS != 2))
            fail_msg("%s: element %d is %g", t->p.op->name, (int)i, got);
    }
}

static void nan_or_inf_makes_its_row_nan_and_no_other(void **state)
{
    (void)state;
    static const char *const ops[] = { "softmax", "log_softmax", "layer_norm" };
    for (int64_t i = 0; i < COUNT_OF(ops); i++) {
        everywhere(ops[i], NULL, fill_nan, look_for_one_row_of_nan);
        everywhere(ops[i], NULL, fill_inf, look_for_one_row_of_nan);
    }
    everywhere("rms_norm", NULL, fill_nan, look_for_one_row_of_nan);
    everywhere("add_rms_norm", NULL, fill_nan, look_for_one_row_of_nan);
    everywhere("softmax", NULL, fill_row_of_minus_inf, look_for_one_row_of_nan);
    everywhere("log_softmax", NULL, fill_row_of_minus_inf, look_for_one_row_of_nan);
}

static void inf_as_zero(problem *p) { problem_add_attr(p, vjp_attr_str("mode", "inf_as_zero")); }

static void look_for_the_limit(const trial *t)
{
    double limit = strcmp(t->p.op->name, "softmax") == 0 ? 0.0 : -INFINITY;
    for (int64_t i = 0; i < COLUMNS; i++)
        expect(t, "a row of -inf", i, limit, element(t, "dst", 2, i));
    expect(t, "stats", 2, -INFINITY, of_row(t, "stats", 2));
}

static void a_row_of_minus_inf_as_zero(void **state)
{
    (void)state;
    everywhere("softmax", inf_as_zero, fill_row_of_minus_inf, look_for_the_limit);
    everywhere("log_softmax", inf_as_zero, fill_row_of_minus_inf, look_for_the_limit);
}

/* ---- cross-entropy -------------------------------------------------------------------------- */

/* The label of row 2 is left out. */
static void fill_entropy(trial *t, double label, double odd)
{
    set_data(t, is_row_2, odd);
    set(t, "label", (double[]){ 3, 0, label, COLUMNS - 1 }, ROWS);
}

static void fill_ignored(trial *t) { fill_entropy(t, -100, NAN); }
static void fill_no_class(trial *t) { fill_entropy(t, COLUMNS, NAN); }
static void fill_no_class_below(trial *t) { fill_entropy(t, -1, INFINITY); }

static void lenient(problem *p) { problem_add_attr(p, vjp_attr_bool("lenient", 1)); }

static void look_for_no_loss(const trial *t)
{
    int has_loss = vjp_op_tensor_index(t->p.op, "loss") >= 0;
    int has_gradient = vjp_op_tensor_index(t->p.op, "diff_src") >= 0;
    if (has_loss)
        expect(t, "the loss", 2, 0.0, of_row(t, "loss", 2));
    for (int64_t i = 0; has_gradient && i < COLUMNS; i++)
        expect(t, "the gradient", i, 0.0, element(t, "diff_src", 2, i));
    assert_true(!has_loss || of_row(t, "loss", 1) > 0);
}

static void an_ignored_row_has_no_loss_and_no_gradient(void **state)
{
    (void)state;
    static const char *const ops[] = { "cross_entropy", "cross_entropy_backward",
                                       "cross_entropy_fused" };
    for (int64_t i = 0; i < COUNT_OF(ops); i++) {
        everywhere(ops[i], NULL, fill_ignored, look_for_no_loss);
        everywhere(ops[i], lenient, fill_no_class, look_for_no_loss);
        everywhere(ops[i], lenient, fill_no_class_below, look_for_no_loss);
    }
}

static void a_label_that_is_no_class_is_refused_unless_lenient(void **state)
{
    (void)state;
    for (int is_lenient = 0; is_lenient < 2; is_lenient++) {
        problem p = problem_start("cross_entropy_fused");
        char reason[VJP_REASON_SIZE] = "";
        vjp_plan *plan = NULL;
        trial t;
        if (is_lenient)
            lenient(&p);
        problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ ROWS, COLUMNS }, 0, NULL);
        problem_drop_inputs(&p);
        trial_open(&t, &p, 0);
        fill_no_class(&t);
        assert_status(VJP_OK, problem_create(&p, isa_contexts[0], &plan, reason), reason);
        trial_prepare(&t, 0xa5);
        assert_status(is_lenient ? VJP_OK : VJP_BAD_ARGUMENT, trial_run_plan(&t, plan), NULL);
        vjp_plan_destroy(plan);
        trial_close(&t);
    }
}

/* Where the label leads by far, 1 - p is made of the other classes, of which no digit is lost. */
static void fill_confident(trial *t)
{
    double logits[COLUMNS];
    for (int64_t i = 0; i < COLUMNS; i++)
        logits[i] = i == 3 ? 40 : (double)(i % 5) / 4;
    set(t, "src", logits, COLUMNS);
    set(t, "label", (double[]){ 3 }, 1);
}

static void look_for_all_digits(const trial *t)
{
    double others = 0, wanted, got = element(t, "diff_src", 0, 3);
    for (int64_t i = 0; i < COLUMNS; i++)
        others += i == 3 ? 0 : exp((double)(i % 5) / 4 - 40);
    wanted = -dtype_round(t->p.tensors[0].dtype, others);
    if (fabs(got - wanted) > fabs(wanted) / 64)
        fail_msg("at the label %a, not %a", got, wanted);
}

static void a_confident_label_keeps_its_digits(void **state)
{
    (void)state;
    everywhere("cross_entropy_fused", NULL, fill_confident, look_for_all_digits);
}

static void in_place(problem *p)
{
    problem_share(p, problem_tensor(p, "diff_src"), problem_tensor(p, "src"));
}

static void fill_labels(trial *t) { set(t, "label", (double[]){ 3, 0, 36, -100 }, ROWS); }

static void look_at_nothing(const trial *t) { (void)t; } /* trial_check does */

static void the_gradient_may_be_written_over_the_logits(void **state)
{
    (void)state;
    everywhere("cross_entropy_fused", in_place, fill_labels, look_at_nothing);
}

/* ---- norms ---------------------------------------------------------------------------------- */

/* Far from 0, by whole numbers that every dtype has. */
static void fill_far(trial *t)
{
    double far = t->p.tensors[0].dtype == VJP_F64    ? 0x1p10 /* the oracle has 11 bits more */
                 : t->p.tensors[0].dtype == VJP_F32  ? 0x1p18
                 : t->p.tensors[0].dtype == VJP_BF16 ? 0x1p6
                                                     : 0x1p9;
    double values[COLUMNS];
    for (int64_t i = 0; i < COLUMNS; i++)
        values[i] = far + (double)(i * i % 7 - 3);
    set(t, "src", values, COLUMNS);
}

static void a_mean_far_from_0_costs_no_digits(void **state)
{
    (void)state;
    everywhere("layer_norm", NULL, fill_far, look_at_nothing);
    everywhere("layer_norm_backward", NULL, fill_far, look_at_nothing);
}

static void fill_alike(trial *t) { set(t, "src", (double[]){ 0.1f }, 1); }

static void look_for_0(const trial *t)
{
    for (int64_t i = 0; i < COLUMNS; i++)
        assert_true(fabs(element(t, "normalized", 1, i)) < 1e-5);
}

static void equal_elements_are_normalized_to_0(void **state)
{
    (void)state;
    everywhere("layer_norm", NULL, fill_alike, look_for_0);
}

static void without_epsilon(problem *p) { problem_add_attr(p, vjp_attr_f64("epsilon", 0)); }

static int is_none(int64_t row, int64_t column) { return row + column < 0; }
static void fill_plain(trial *t) { set_data(t, is_none, 0); }

static void an_epsilon_of_0(void **state)
{
    (void)state;
    static const char *const ops[] = { "rms_norm", "rms_norm_backward", "layer_norm",
                                       "layer_norm_backward", "add_rms_norm",
                                       "add_rms_norm_backward" };
    for (int64_t i = 0; i < COUNT_OF(ops); i++)
        everywhere(ops[i], without_epsilon, fill_plain, look_at_nothing);
}

static void fill_1_and_3(trial *t) { set(t, "src", (double[]){ 1, 3 }, 2); }

/* Rows of 2: the mean is 2, the variance 1. */
static void statistics_are_what_their_word_says(void **state)
{
    (void)state;
    static const char *const words[] = { "rstd", "variance", "deviation" };
    static const double wanted[] = { 0.5, 1, 2 };
    for (int64_t w = 0; w < COUNT_OF(words); w++)
        for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++) {
            problem p = problem_start("layer_norm");
            trial t;
            problem_add_attr(&p, vjp_attr_f64("epsilon", 3));
            problem_add_attr(&p, vjp_attr_str("statistics", words[w]));
            problem_contiguous(&p, all_dtypes[d], all_dtypes[d], 2, (int64_t[]){ 5, 2 }, 1,
                               (int64_t[]){ 2 });
            trial_open(&t, &p, 0);
            fill_1_and_3(&t);
            trial_run(&t, isa_contexts[0], 0xa5);
            for (int64_t row = 0; row < 5; row++) {
                expect(&t, words[w], row, wanted[w], of_row(&t, "rstd", row));
                expect(&t, "mean", row, 2, of_row(&t, "mean", row));
            }
            trial_check(&t);
            trial_close(&t);
        }
}

/* Both outputs in the memory of the inputs. */
static void over_both(problem *p)
{
    problem_share(p, problem_tensor(p, "sum"), problem_tensor(p, "a"));
    problem_share(p, problem_tensor(p, "dst"), problem_tensor(p, "b"));
}

static void fill_nothing(trial *t) { (void)t; } /* as drawn */

static void a_sum_and_its_norm_may_be_written_over_the_terms(void **state)
{
    (void)state;
    everywhere("add_rms_norm", over_both, fill_nothing, look_at_nothing);
}

/* The gradients of the same row, by operator. */
static void gradients_of(const char *op, int passes, double got[COLUMNS])
{
    problem p = problem_start(op);
    trial t;
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 1, COLUMNS }, 1,
                       (int64_t[]){ COLUMNS });
    problem_drop_inputs(&p);
    if (passes)
        keep_input(&p, "diff_sum");
    trial_open(&t, &p, 0);
    set(&t, "src", (double[]){ 1, -2, 0.5 }, 3);
    set(&t, "diff_dst", (double[]){ 0, 3, -0.25, 1 }, 4);
    if (passes)
        set(&t, "diff_sum", (double[]){ 100, -7 }, 2);
    trial_run(&t, isa_contexts[0], 0xa5);
    for (int64_t i = 0; i < COLUMNS; i++)
        got[i] = trial_get(&t, problem_tensor(&p, "diff_src"), i);
    trial_close(&t);
}

static void the_gradient_of_a_sum_is_passed_on(void **state)
{
    (void)state;
    double norm[COLUMNS], alone[COLUMNS], passed[COLUMNS];
    gradients_of("rms_norm_backward", 0, norm);
    gradients_of("add_rms_norm_backward", 0, alone);
    gradients_of("add_rms_norm_backward", 1, passed);
    for (int64_t i = 0; i < COLUMNS; i++) {
        assert_true(value_same(norm[i], alone[i]));
        assert_true(passed[i] == (double)((float)norm[i] + (i % 2 == 0 ? 100.0f : -7.0f)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_masked_is_plus_zero_and_does_not_count),
        cmocka_unit_test(what_is_behind_a_length_is_plus_zero_and_not_read),
        cmocka_unit_test(a_causal_row_ends_at_the_diagonal_at_the_bottom_right),
        cmocka_unit_test(more_rows_than_columns),
        cmocka_unit_test(nan_or_inf_makes_its_row_nan_and_no_other),
        cmocka_unit_test(a_row_of_minus_inf_as_zero),
        cmocka_unit_test(an_ignored_row_has_no_loss_and_no_gradient),
        cmocka_unit_test(a_label_that_is_no_class_is_refused_unless_lenient),
        cmocka_unit_test(a_confident_label_keeps_its_digits),
        cmocka_unit_test(the_gradient_may_be_written_over_the_logits),
        cmocka_unit_test(a_mean_far_from_0_costs_no_digits),
        cmocka_unit_test(equal_elements_are_normalized_to_0),
        cmocka_unit_test(an_epsilon_of_0),
        cmocka_unit_test(statistics_are_what_their_word_says),
        cmocka_unit_test(a_sum_and_its_norm_may_be_written_over_the_terms),
        cmocka_unit_test(the_gradient_of_a_sum_is_passed_on),
    };
    return cmocka_run_group_tests(tests, isa_contexts_open, isa_contexts_close);
}
