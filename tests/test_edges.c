/* SPDX-License-Identifier: Apache-2.0 */
/* test_edges.c - edge values of elementwise formulas, a test for each rule.
 *
 * Every pair is tried in every dtype that holds it, on every instruction set, in a tensor long
 * enough to have both whole vectors and a tail.
 */
#include <math.h>

#include "contexts.h"
#include "dtypes.h"
#include "trial.h"
#include "unit.h"
#include "values.h"

enum {
    LENGTH = 67
};

static int dtype_holds(vjp_dtype dtype, double value)
{
    return isnan(value) || dtype_round(dtype, value) == value;
}

/* The gradient of one input and one upstream gradient, the same at all LENGTH places. */
static double gradient_on(vjp_context *ctx, const problem *op, vjp_dtype dtype, double x, double g)
{
    problem p = *op;
    trial t;
    problem_contiguous(&p, dtype, dtype, 1, (int64_t[]){ LENGTH }, 1, (int64_t[]){ 1 });
    trial_open(&t, &p, 0);
    trial_set(&t, 0, &x, 1);
    trial_set(&t, p.op->ninputs - 1, &g, 1);
    trial_run(&t, ctx, 0xa5);
    double first = trial_get(&t, p.op->ninputs, 0);
    for (int64_t i = 1; i < LENGTH; i++)
        if (!value_same(first, trial_get(&t, p.op->ninputs, i)))
            fail_msg("%s of %a, %a differs at place %d", p.op->name, x, g, (int)i);
    trial_close(&t);
    return first;
}

/* expect_in - the gradient in one dtype on all instruction sets. */
static void expect_in(vjp_dtype dtype, const problem *op, double x, double g, double wanted)
{
    for (int isa = 0; isa < ISAS; isa++) {
        if (isa_contexts[isa] == NULL)
            continue;
        double got = gradient_on(isa_contexts[isa], op, dtype, x, g);
        if (!value_same(wanted, got))
            fail_msg("%s %s on %s: x = %a, g = %a gives %a, not %a", op->op->name,
                     vjp_dtype_name(dtype), all_isas[isa], x, g, got, wanted);
    }
}

static void expect(const problem *op, double x, double g, double wanted)
{
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
        if (dtype_holds(all_dtypes[i], x) && dtype_holds(all_dtypes[i], g))
            expect_in(all_dtypes[i], op, x, g, dtype_round(all_dtypes[i], wanted));
}

static const double upstream[] = { 1, -1.5, 0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-24, 60000 };

/* expect_plus_zero - at x every upstream gradient, infinite and NaN too, becomes +0. */
static void expect_plus_zero(const problem *op, double x)
{
    for (int64_t i = 0; i < COUNT_OF(upstream); i++)
        expect(op, x, upstream[i], 0.0);
}

/* expect_scaled - at x every upstream gradient is multiplied by `factor`. */
static void expect_scaled(const problem *op, double x, double factor)
{
    for (int64_t i = 0; i < COUNT_OF(upstream); i++)
        expect(op, x, upstream[i], upstream[i] * factor);
}

/* ---- relu --------------------------------------------------------------------------------- */

static problem relu(int use_dst)
{
    problem p = problem_start("relu_backward");
    problem_add_attr(&p, vjp_attr_bool("use_dst", use_dst));
    return p;
}

static void relu_passes_every_gradient_above_zero(void **state)
{
    (void)state;
    for (int use_dst = 0; use_dst < 2; use_dst++) {
        problem p = relu(use_dst);
        expect_scaled(&p, 1, 1);
        expect_scaled(&p, INFINITY, 1);
        for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
            expect_in(all_dtypes[i], &p, dtype_tiny(all_dtypes[i]), -3, -3);
    }
}

static void relu_is_plus_zero_at_zero_below_and_nan(void **state)
{
    (void)state;
    for (int use_dst = 0; use_dst < 2; use_dst++) {
        problem p = relu(use_dst);
        expect_plus_zero(&p, 0.0);
        expect_plus_zero(&p, -0.0);
        expect_plus_zero(&p, -1);
        expect_plus_zero(&p, -INFINITY);
        expect_plus_zero(&p, NAN);
        for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
            expect_in(all_dtypes[i], &p, -dtype_tiny(all_dtypes[i]), -3, 0.0);
    }
}

static void relu_keeps_subnormal_gradients(void **state)
{
    (void)state;
    problem p = relu(0);
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
        expect_in(all_dtypes[i], &p, 1, -dtype_tiny(all_dtypes[i]), -dtype_tiny(all_dtypes[i]));
}

enum {
    PATTERNS = 1 << 16
};

/* Raw bits, because a NaN does not survive a conversion to double unchanged. */
static void relu_of_patterns(vjp_context *ctx, vjp_dtype dtype, uint16_t *patterns, uint16_t *got)
{
    problem p = relu(0);
    uint16_t one;
    element_write(dtype, &one, 1);
    problem_contiguous(&p, dtype, dtype, 1, (int64_t[]){ PATTERNS }, 0, NULL);
    p.tensors[0].strides[0] = 0;
    const vjp_tensor *tensors[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2] };
    const void *inputs[] = { &one, patterns };
    void *outputs[] = { got };
    vjp_status status =
        vjp_compute(ctx, p.op->name, NULL, 0, tensors, 3, inputs, outputs, NULL, 0);
    assert_status(VJP_OK, status, NULL);
}

static void relu_passes_every_16_bit_pattern(void **state)
{
    (void)state;
    static uint16_t patterns[PATTERNS], got[PATTERNS];
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int i = 0; i < PATTERNS; i++)
        patterns[i] = (uint16_t)i;
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++)
        for (int isa = 0; isa < ISAS; isa++) {
            if (isa_contexts[isa] == NULL)
                continue;
            relu_of_patterns(isa_contexts[isa], dtypes[d], patterns, got);
            for (int i = 0; i < PATTERNS; i++)
                if (element_bits(dtypes[d], &got[i]) != element_bits(dtypes[d], &patterns[i]))
                    fail_msg("%s on %s: 0x%04x became 0x%04x", vjp_dtype_name(dtypes[d]),
                             all_isas[isa], patterns[i], got[i]);
        }
}

/* ---- sigmoid from src --------------------------------------------------------------------- */

static problem sigmoid(int use_dst)
{
    problem p = problem_start("sigmoid_backward");
    problem_add_attr(&p, vjp_attr_bool("use_dst", use_dst));
    return p;
}

static void sigmoid_at_zero_is_a_quarter(void **state)
{
    (void)state;
    problem p = sigmoid(0);
    expect(&p, 0.0, 1, 0.25);
    expect(&p, -0.0, -8, -2);
}

static void sigmoid_gives_nan_for_nan(void **state)
{
    (void)state;
    problem p = sigmoid(0);
    for (int64_t i = 0; i < COUNT_OF(upstream); i++)
        expect(&p, NAN, upstream[i], NAN);
    expect(&p, 1, NAN, NAN);
    expect(&p, INFINITY, NAN, NAN);
    expect(&p, -200, NAN, NAN);
}

static void sigmoid_keeps_infinite_gradients_at_finite_src(void **state)
{
    (void)state;
    const double places[] = { 0, 1, 17.5, 100, 800, 60000, 0x1p100, 0x1p1000 };
    problem p = sigmoid(0);
    for (int64_t i = 0; i < COUNT_OF(places); i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            expect(&p, sign * places[i], INFINITY, INFINITY);
            expect(&p, sign * places[i], -INFINITY, -INFINITY);
        }
}

static void sigmoid_at_infinite_src_is_zero_times_the_gradient(void **state)
{
    (void)state;
    problem p = sigmoid(0);
    expect_scaled(&p, INFINITY, 0.0);
    expect_scaled(&p, -INFINITY, 0.0);
}

static void sigmoid_keeps_the_sign_of_zero_gradients(void **state)
{
    (void)state;
    const double places[] = { 0, 1, -3, 40, -100, 700, 60000 };
    problem p = sigmoid(0);
    for (int64_t i = 0; i < COUNT_OF(places); i++) {
        expect(&p, places[i], 0.0, 0.0);
        expect(&p, places[i], -0.0, -0.0);
    }
}

/* The slope alone underflows here; slope times gradient does not. */
static void sigmoid_far_out_still_has_a_gradient(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F64, VJP_F32, VJP_BF16 };
    problem p = sigmoid(0);
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++)
        for (int isa = 0; isa < ISAS; isa++) {
            if (isa_contexts[isa] == NULL)
                continue;
            double got = gradient_on(isa_contexts[isa], &p, dtypes[i], 120, 0x1p120);
            bound within = bound_ulps(dtypes[i] == VJP_BF16 ? 0.501L : 3.5L);
            assert_true(got > 1.0e-16 && got < 1.1e-16);
            assert_true(bound_holds(within, dtypes[i], expl(-120.0L) * 0x1p120L, got));
        }
}

static void sigmoid_is_right_where_the_textbook_gives_zero(void **state)
{
    (void)state;
    const double places[] = { 6.5, 10, 17.5, 20, 40, 80, 88, 100, 103 };
    problem p = sigmoid(0);
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
        for (int64_t x = 0; x < COUNT_OF(places); x++) {
            bound within = bound_ulps(dtype_is_16_bit(all_dtypes[i]) ? 0.501L : 3.5L);
            long double e = expl(-(long double)places[x]);
            double got = gradient_on(isa_contexts[0], &p, all_dtypes[i], places[x], 1);
            if (!bound_holds(within, all_dtypes[i], e / ((1 + e) * (1 + e)), got))
                fail_msg("%s: x = %g, g = 1 gives %a", vjp_dtype_name(all_dtypes[i]), places[x],
                         got);
        }
}

static void sigmoid_is_even(void **state)
{
    (void)state;
    problem p = sigmoid(0);
    for (double x = 0; x < 130; x = x * 1.5 + 0.37)
        for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++) {
            double rounded = dtype_round(all_dtypes[i], x);
            double right = gradient_on(isa_contexts[0], &p, all_dtypes[i], rounded, 5);
            expect_in(all_dtypes[i], &p, -rounded, 5, right);
        }
}

/* ---- sigmoid from dst --------------------------------------------------------------------- */

static void sigmoid_from_dst_at_its_ends_is_zero_times_the_gradient(void **state)
{
    (void)state;
    problem p = sigmoid(1);
    expect_scaled(&p, 0, 0.0);
    expect_scaled(&p, 1, 0.0);
    expect_scaled(&p, 0.5, 0.25);
    expect(&p, NAN, 1, NAN);
    expect(&p, NAN, 0, NAN);
}

/* ---- hard sigmoid ------------------------------------------------------------------------- */

static problem hard_sigmoid(float alpha, float beta)
{
    problem p = problem_start("hard_sigmoid_backward");
    problem_add_attr(&p, vjp_attr_f32("alpha", alpha));
    problem_add_attr(&p, vjp_attr_f32("beta", beta));
    return p;
}

static void hard_sigmoid_scales_inside_and_is_plus_zero_outside(void **state)
{
    (void)state;
    problem p = hard_sigmoid(0.5f, 0.5f);
    expect_scaled(&p, 0, 0.5);
    expect_plus_zero(&p, -2);
    expect_plus_zero(&p, 2);
    expect_plus_zero(&p, INFINITY);
    expect_plus_zero(&p, -INFINITY);
    expect_plus_zero(&p, NAN);
}

static void hard_sigmoid_is_open_at_both_thresholds(void **state)
{
    (void)state;
    problem p = hard_sigmoid(0.5f, 0.5f), steep = hard_sigmoid(1, 0);
    expect_plus_zero(&p, -1);
    expect_plus_zero(&p, 1);
    expect_plus_zero(&steep, 0.0);
    expect_plus_zero(&steep, -0.0);
    expect_plus_zero(&steep, 1);
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++) {
        vjp_dtype dtype = all_dtypes[i];
        /* The line just below 1 rounds to 1 where the compute type is no wider than src. */
        expect_in(dtype, &p, dtype_next(dtype, -1, +1), 4, 2);
        expect_in(dtype, &p, dtype_next(dtype, -1, -1), 4, 0.0);
        expect_in(dtype, &p, dtype_next(dtype, 1, -1), 4, dtype_is_16_bit(dtype) ? 2 : 0.0);
        expect_in(dtype, &p, dtype_next(dtype, 1, +1), 4, 0.0);
        expect_in(dtype, &steep, dtype_tiny(dtype), 4, 4);
        expect_in(dtype, &steep, -dtype_tiny(dtype), 4, 0.0);
        expect_in(dtype, &steep, dtype_next(dtype, 1, -1), 4, 4);
    }
}

/* alpha * src is 1/2 ulp above -beta here: only without a rounding in between is the sum > 0. */
static void hard_sigmoid_decides_on_a_fused_line(void **state)
{
    (void)state;
    const struct {
        vjp_dtype dtype;
        int digits;
    } narrow[] = { { VJP_F32, 12 }, { VJP_F16, 10 }, { VJP_BF16, 7 } };
    for (int64_t i = 0; i < COUNT_OF(narrow); i++) {
        double x = 1 + ldexp(1, -narrow[i].digits), alpha = 1 + ldexp(1, narrow[i].digits - 24);
        problem p = hard_sigmoid((float)alpha, (float)-(x + alpha - 1));
        expect_in(narrow[i].dtype, &p, x, 1, dtype_round(narrow[i].dtype, alpha));
    }
}

static void hard_sigmoid_with_nan_or_infinite_attributes_is_plus_zero(void **state)
{
    (void)state;
    const float odd[] = { NAN, INFINITY, -INFINITY };
    const double places[] = { 0, -0.0, 1, -0.5, INFINITY, NAN };
    for (int64_t i = 0; i < COUNT_OF(odd); i++)
        for (int64_t x = 0; x < COUNT_OF(places); x++) {
            problem by_alpha = hard_sigmoid(odd[i], 0.5f), by_beta = hard_sigmoid(0.2f, odd[i]);
            expect_plus_zero(&by_alpha, places[x]);
            expect_plus_zero(&by_beta, places[x]);
        }
}

static void hard_sigmoid_with_alpha_zero_is_zero_times_the_gradient(void **state)
{
    (void)state;
    problem p = hard_sigmoid(0, 0.5f);
    expect_scaled(&p, 3, 0.0);
    expect_plus_zero(&p, INFINITY);
    expect_plus_zero(&p, NAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relu_passes_every_gradient_above_zero),
        cmocka_unit_test(relu_is_plus_zero_at_zero_below_and_nan),
        cmocka_unit_test(relu_keeps_subnormal_gradients),
        cmocka_unit_test(relu_passes_every_16_bit_pattern),
        cmocka_unit_test(sigmoid_at_zero_is_a_quarter),
        cmocka_unit_test(sigmoid_gives_nan_for_nan),
        cmocka_unit_test(sigmoid_keeps_infinite_gradients_at_finite_src),
        cmocka_unit_test(sigmoid_at_infinite_src_is_zero_times_the_gradient),
        cmocka_unit_test(sigmoid_keeps_the_sign_of_zero_gradients),
        cmocka_unit_test(sigmoid_far_out_still_has_a_gradient),
        cmocka_unit_test(sigmoid_is_right_where_the_textbook_gives_zero),
        cmocka_unit_test(sigmoid_is_even),
        cmocka_unit_test(sigmoid_from_dst_at_its_ends_is_zero_times_the_gradient),
        cmocka_unit_test(hard_sigmoid_scales_inside_and_is_plus_zero_outside),
        cmocka_unit_test(hard_sigmoid_is_open_at_both_thresholds),
        cmocka_unit_test(hard_sigmoid_decides_on_a_fused_line),
        cmocka_unit_test(hard_sigmoid_with_nan_or_infinite_attributes_is_plus_zero),
        cmocka_unit_test(hard_sigmoid_with_alpha_zero_is_zero_times_the_gradient),
    };
    return cmocka_run_group_tests(tests, isa_contexts_open, isa_contexts_close);
}
