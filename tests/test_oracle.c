/* SPDX-License-Identifier: Apache-2.0 */
/* test_oracle.c - the measure is measured first: the oracle has every operator and agrees with
 * difference quotients of the forward functions and with MPFR; the formats and the bounds are what they say.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "dtypes.h"
#include "exact.h"
#include "oracle.h"
#include "random.h"
#include "unit.h"
#include "values.h"
#include "variants.h"

/* ---- the oracle --------------------------------------------------------------------------- */

static void every_operator_has_an_oracle(void **state)
{
    (void)state;
    assert_true(vjp_op_count() > 0);
    for (int32_t i = 0; i < vjp_op_count(); i++)
        if (!oracle_knows(vjp_op_at(i)->name))
            fail_msg("no line in the oracle for %s", vjp_op_at(i)->name);
}

enum {
    MOST_ANSWERS = 16
};

typedef struct answers {
    long double of[2][MOST_ANSWERS];
} answers;

static void keep_answer(void *user, int32_t output, int64_t index, long double value, bound within)
{
    (void)within;
    ((answers *)user)->of[output][index] = value;
}

static answers ask(const problem *p, const double *const *inputs)
{
    answers a;
    memset(&a, 0, sizeof a);
    oracle_answer(p, inputs, keep_answer, &a);
    return a;
}

static void assert_near(long double wanted, long double got)
{
    if (fabsl(wanted - got) > 1e-6L * (1 + fabsl(wanted)))
        fail_msg("wanted %.12Lg, got %.12Lg", wanted, got);
}

static void check_quotient(const problem *p)
{
    const long double h = 1e-5L;
    const double places[] = { -7.25, -1.5, -0.25, 0.375, 1.25, 8.5 };
    for (int64_t i = 0; i < COUNT_OF(places); i++) {
        double x = places[i], w = 0.75, upstream = -1.5;
        const double *three[] = { &x, &w, &upstream }, *two[] = { &x, &upstream };
        answers a = ask(p, p->op->ninputs == 3 ? three : two);
        long double by_x = (oracle_forward(p, x + h, w) - oracle_forward(p, x - h, w)) / (2 * h);
        long double by_w = (oracle_forward(p, x, w + h) - oracle_forward(p, x, w - h)) / (2 * h);
        assert_near(upstream * by_x, a.of[0][0]);
        if (p->op->noutputs == 2)
            assert_near(upstream * by_w, a.of[1][0]);
    }
}

static void derivatives_agree_with_difference_quotients(void **state)
{
    (void)state;
    static const char *const ops[] = { "relu_backward", "sigmoid_backward", "hard_sigmoid_backward",
                                       "prelu_backward" };
    for (int64_t i = 0; i < COUNT_OF(ops); i++) {
        problem p = problem_start(ops[i]);
        problem_add_attr(&p, vjp_attr_bool("use_dst", 0));
        problem_add_attr(&p, vjp_attr_f32("alpha", 0.25f)); /* each asks for what it needs */
        problem_add_attr(&p, vjp_attr_f32("beta", 0.5f));
        problem_contiguous(&p, VJP_F64, VJP_F64, 0, NULL, 0, NULL);
        check_quotient(&p);
    }
}

static void sigmoid_from_its_result_is_sigmoid_from_its_input(void **state)
{
    (void)state;
    problem from_src = problem_start("sigmoid_backward"), from_dst = from_src;
    problem_add_attr(&from_src, vjp_attr_bool("use_dst", 0));
    problem_add_attr(&from_dst, vjp_attr_bool("use_dst", 1));
    problem_contiguous(&from_src, VJP_F64, VJP_F64, 0, NULL, 0, NULL);
    problem_contiguous(&from_dst, VJP_F64, VJP_F64, 0, NULL, 0, NULL);
    for (double x = -9; x < 9; x += 0.5) {
        double y = (double)oracle_forward(&from_src, x, 0), upstream = 3;
        const double *by_x[] = { &x, &upstream }, *by_y[] = { &y, &upstream };
        assert_near(ask(&from_src, by_x).of[0][0], ask(&from_dst, by_y).of[0][0]);
    }
}

enum {
    ROW = 5
};

static void softmax(const long double *x, long double *y)
{
    long double sum = 0;
    for (int i = 0; i < ROW; i++)
        sum += y[i] = expl(x[i]);
    for (int i = 0; i < ROW; i++)
        y[i] /= sum;
}

/* The loss that has the gradient `upstream` at softmax(x). */
static long double loss(const long double *x, const double *upstream)
{
    long double y[ROW], sum = 0;
    softmax(x, y);
    for (int i = 0; i < ROW; i++)
        sum += y[i] * upstream[i];
    return sum;
}

static void softmax_agrees_with_difference_quotients(void **state)
{
    (void)state;
    const long double h = 1e-5L;
    const double upstream[ROW] = { 1, -2, 0.5, 4, -0.25 };
    long double x[ROW] = { 0.5L, -1, 2, 0, -3 }, y[ROW];
    double dst[ROW];
    const double *inputs[] = { upstream, dst };
    problem p = problem_start("softmax_backward");
    problem_add_attr(&p, vjp_attr_s64("axis", 0));
    problem_contiguous(&p, VJP_F64, VJP_F64, 1, (int64_t[]){ ROW }, 0, NULL);
    softmax(x, y);
    for (int i = 0; i < ROW; i++)
        dst[i] = (double)y[i];
    answers a = ask(&p, inputs);
    for (int i = 0; i < ROW; i++) {
        long double at = x[i];
        x[i] = at + h;
        long double above = loss(x, upstream);
        x[i] = at - h;
        assert_near((above - loss(x, upstream)) / (2 * h), a.of[0][i]);
        x[i] = at;
    }
}

/* ---- the oracle beside MPFR --------------------------------------------------------------- */

typedef struct differences {
    const problem *p;
    long double values[4096];
    bound within[4096];
    int64_t compared;
} differences;

static int64_t place_of(const differences *d, int32_t output, int64_t index)
{
    return output == 0 ? index : tensor_count(&d->p->tensors[d->p->op->ninputs]) + index;
}

static void keep_value(void *user, int32_t output, int64_t index, long double value, bound within)
{
    differences *d = user;
    d->values[place_of(d, output, index)] = value;
    d->within[place_of(d, output, index)] = within;
}

/* Nearer than a hundredth of any bound. */
static void compare_value(void *user, int32_t output, int64_t index, mpfr_srcptr exact)
{
    differences *d = user;
    int64_t place = place_of(d, output, index);
    bound within = d->within[place];
    long double value = d->values[place], is = mpfr_get_ld(exact, MPFR_RNDN);
    long double allowed = within.absolute >= 0 ? within.absolute : dtype_ulp(VJP_F64, is);
    if (!(fabsl(value - is) <= allowed / 100))
        fail_msg("%s, output %d(%lld): %La, by MPFR %La", d->p->op->name, (int)output,
                 (long long)index, value, is);
    d->compared++;
}

/* Fractions, gradients of both signs; before a slope, inputs left of 0, where it counts. */
static double *draw_input(const problem *p, int32_t input, random_state *random)
{
    int64_t n = tensor_count(&p->tensors[input]);
    double *values = unit_malloc((size_t)n * sizeof *values);
    int is_gradient = input == problem_tensor(p, "diff_dst");
    for (int64_t i = 0; i < n; i++) {
        int negative = is_gradient ? random_chance(random, 50) : p->op->ninputs > 2;
        double value = value_draw(random, VJP_F64, ORACLE_FRACTION, 0);
        values[i] = negative ? -value : value;
    }
    return values;
}

static void the_oracle_agrees_with_mpfr(void **state)
{
    (void)state;
    static differences d;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            double *inputs[PROBLEM_TENSORS];
            problem p = variant_problem(vjp_op_at(o), v);
            random_state random = random_start(random_seed(), (uint64_t)v);
            problem_contiguous(&p, VJP_F64, VJP_F64, 2, (int64_t[]){ 3, 1000 }, 1,
                               (int64_t[]){ 1 });
            d.p = &p;
            d.compared = 0;
            for (int32_t t = 0; t < p.op->ninputs; t++)
                inputs[t] = draw_input(&p, t, &random);
            oracle_answer(&p, (const double *const *)inputs, keep_value, &d);
            exact_answer(&p, (const double *const *)inputs, compare_value, &d);
            assert_true(d.compared >= 3000);
            for (int32_t t = 0; t < p.op->ninputs; t++)
                free(inputs[t]);
        }
    exact_close();
}

static void every_elementwise_operator_is_known_to_mpfr(void **state)
{
    (void)state;
    for (int32_t o = 0; o < vjp_op_count(); o++) {
        const vjp_op_info *op = vjp_op_at(o);
        int has_axis = 0;
        for (int32_t i = 0; i < op->nattrs; i++)
            has_axis |= vjp_op_attr(op, i)->type == VJP_ATTR_S64;
        if (!has_axis && !exact_knows(op->name))
            fail_msg("no line in slopes.h for %s", op->name);
    }
}

/* ---- formats ------------------------------------------------------------------------------ */

static void sixteen_bits_survive_the_way_there_and_back(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++)
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            uint16_t stored = (uint16_t)bits, again;
            double value = element_read(dtypes[i], &stored);
            element_write(dtypes[i], &again, value);
            if (element_bits(dtypes[i], &again) != element_bits(dtypes[i], &stored))
                fail_msg("%s 0x%04x came back as 0x%04x", vjp_dtype_name(dtypes[i]), bits, again);
        }
}

static void rounding_is_to_nearest_even(void **state)
{
    (void)state;
    assert_true(dtype_round(VJP_F16, 1 + 0x1p-11L) == 1);
    assert_true(dtype_round(VJP_F16, 1 + 0x3p-11L) == 1 + 0x1p-9);
    assert_true(dtype_round(VJP_F16, 1 + 0x1p-11L + 0x1p-40L) == 1 + 0x1p-10);
    assert_true(dtype_round(VJP_BF16, 1 + 0x1p-8L) == 1);
    assert_true(dtype_round(VJP_BF16, 0x1p-134L) == 0);
    assert_true(dtype_round(VJP_BF16, 0x3p-134L) == 0x1p-132);
    assert_true(isinf(dtype_round(VJP_F16, 65520)));
    assert_true(dtype_round(VJP_F16, 65519.9L) == 65504);
    assert_true(signbit(dtype_round(VJP_F16, -0x1p-30L)));
}

static void formats_have_their_limits(void **state)
{
    (void)state;
    assert_true(dtype_max(VJP_F16) == 65504 && dtype_tiny(VJP_F16) == 0x1p-24);
    assert_true(dtype_max(VJP_BF16) == 0x1.fep127 && dtype_tiny(VJP_BF16) == 0x1p-133);
    assert_true(dtype_max(VJP_F32) == 0x1.fffffep127 && dtype_tiny(VJP_F32) == 0x1p-149);
    assert_true(dtype_tiny(VJP_F64) == 0x1p-1074 && dtype_ulp(VJP_F64, 1) == 0x1p-52L);
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++) {
        double eps = (double)dtype_ulp(all_dtypes[i], 1);
        assert_true(dtype_next(all_dtypes[i], 1, +1) == 1 + eps);
        assert_true(dtype_next(all_dtypes[i], 1, -1) == 1 - eps / 2);
        assert_true(dtype_next(all_dtypes[i], -1, -1) == -1 - eps);
        assert_true(dtype_next(all_dtypes[i], 0, -1) == -dtype_tiny(all_dtypes[i]));
    }
}

/* ---- bounds ------------------------------------------------------------------------------- */

static void bounds_hold_what_they_should_and_no_more(void **state)
{
    (void)state;
    bound half = bound_ulps(0.5L), sum = bound_absolute(0x1p-12L);
    assert_true(bound_holds(half, VJP_F32, 1 + 0x1p-24L, 1));
    assert_false(bound_holds(half, VJP_F32, 1 + 0x1.1p-24L, 1));
    assert_true(bound_holds(half, VJP_F16, 70000, INFINITY));
    assert_false(bound_holds(half, VJP_F16, 65504, INFINITY));
    assert_false(bound_holds(half, VJP_F32, 0, -0.0));
    assert_false(bound_holds(half, VJP_F32, -0x1p-160L, 0.0));
    assert_true(bound_holds(half, VJP_F32, NAN, NAN));
    assert_false(bound_holds(half, VJP_F32, 1, NAN));
    assert_false(bound_holds(half, VJP_F32, NAN, 1));
    assert_false(bound_holds(half, VJP_F32, INFINITY, -INFINITY));
    assert_true(bound_holds(sum, VJP_F32, 1 + 0x1p-12L, 1));
    assert_false(bound_holds(sum, VJP_F32, 1 + 0x1.1p-12L, 1));
    assert_true(bound_holds(sum, VJP_F16, 1 + 0x1p-11L + 0x1p-12L, 1));
    assert_false(bound_holds(sum, VJP_F16, 1 + 0x1p-11L + 0x1.1p-12L, 1));
    assert_true(bound_sum_error(VJP_F32, 1025, 0) == 1025 * 0x1p-149L);
    assert_true(fabsl(bound_sum_error(VJP_F16, 1025, 1) - 19 * 0x1p-23L) < 0x1p-100L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_an_oracle),
        cmocka_unit_test(derivatives_agree_with_difference_quotients),
        cmocka_unit_test(sigmoid_from_its_result_is_sigmoid_from_its_input),
        cmocka_unit_test(softmax_agrees_with_difference_quotients),
        cmocka_unit_test(the_oracle_agrees_with_mpfr),
        cmocka_unit_test(every_elementwise_operator_is_known_to_mpfr),
        cmocka_unit_test(sixteen_bits_survive_the_way_there_and_back),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(formats_have_their_limits),
        cmocka_unit_test(bounds_hold_what_they_should_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
