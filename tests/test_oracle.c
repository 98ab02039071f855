/* SPDX-License-Identifier: Apache-2.0 */
/* test_oracle.c - tests of the oracle itself: it has every operator and agrees with difference
 * quotients of the forward functions and with MPFR; the formats and the bounds are as documented.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "dtypes.h"
#include "exact.h"
#include "kinds.h"
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
    MOST_ANSWERS = 64
};

typedef struct answers {
    long double of[PROBLEM_TENSORS][MOST_ANSWERS];
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

/* Values of ordinary size, away from where a function has a corner. */
static double **draw_inputs(const problem *p, random_state *random)
{
    double **inputs = unit_malloc(PROBLEM_TENSORS * sizeof *inputs);
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        int64_t n = tensor_count(&p->tensors[t]);
        inputs[t] = unit_malloc((size_t)(n + 1) * sizeof(double));
        for (int64_t i = 0; i < n; i++)
            inputs[t][i] = value_draw_input(random, p, t, 0);
        for (int64_t i = 0; i < n && oracle_home_domain(p, t) <= ORACLE_MODEST &&
                            !dtype_is_integer(p->tensors[t].dtype); i++)
            inputs[t][i] = (random_chance(random, 50) ? -1 : 1) * (0.1 + 2 * random_unit(random));
    }
    values_save(p, inputs);
    return inputs;
}

static void free_inputs(const problem *p, double **inputs)
{
    for (int32_t t = 0; t < p->op->ninputs; t++)
        free(inputs[t]);
    free(inputs);
}

/* The input that an output is the gradient of: that of its name, or the first; -1: it is no
 * gradient, or that of a parameter that the backward operator is not given. */
static int32_t input_of(const problem *p, int32_t output)
{
    const vjp_tensor_info *info = vjp_op_tensor(p->op, p->op->ninputs + output);
    if (strncmp(info->name, "diff_", 5) != 0)
        return -1;
    int32_t t = vjp_op_tensor_index(p->op, info->name + 5);
    return t >= 0 || (info->flags & VJP_TENSOR_SUM) ? t : 0;
}

static void check_quotients(const problem *p, double *const *inputs)
{
    const double h = 0x1p-17;
    answers a = ask(p, (const double *const *)inputs);
    for (int32_t o = 0; o < p->op->noutputs; o++) {
        int32_t t = input_of(p, o);
        for (int64_t i = 0, n = t < 0 ? 0 : tensor_count(&p->tensors[t]); i < n; i++) {
            double at = inputs[t][i];
            inputs[t][i] = at + h;
            long double above = oracle_flow(p, (const double *const *)inputs);
            inputs[t][i] = at - h;
            long double below = oracle_flow(p, (const double *const *)inputs);
            inputs[t][i] = at;
            assert_near((above - below) / (2 * (long double)h), a.of[o][i]);
        }
    }
}

static void derivatives_agree_with_difference_quotients(void **state)
{
    (void)state;
    int checked = 0;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            problem p = variant_problem(vjp_op_at(o), v);
            random_state random = random_start(random_seed(), (uint64_t)v);
            problem_contiguous(&p, VJP_F64, VJP_F64, 2, (int64_t[]){ 3, 5 }, 1, (int64_t[]){ 5 });
            for (int32_t t = 0; t < p.op->ninputs; t++) /* saved: not functions of src as well */
                if (vjp_op_tensor(p.op, t)->shape_rule == VJP_SHAPE_ROW &&
                    t != kind_gradient(p.op) &&
                    (vjp_op_tensor(p.op, t)->flags & VJP_TENSOR_OPTIONAL))
                    problem_drop(&p, t);
            if (!oracle_is_forward(&p))
                continue;
            double **inputs = draw_inputs(&p, &random);
            check_quotients(&p, inputs);
            free_inputs(&p, inputs);
            checked++;
        }
    assert_true(checked > 0);
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
    problem_drop_inputs(&p);
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
    long double values[PROBLEM_TENSORS][4096];
    bound within[PROBLEM_TENSORS][4096];
    int64_t compared;
} differences;

static void keep_value(void *user, int32_t output, int64_t index, long double value, bound within)
{
    differences *d = user;
    d->values[output][index] = value;
    d->within[output][index] = within;
}

/* Nearer than a hundredth of any bound. */
static void compare_value(void *user, int32_t output, int64_t index, mpfr_srcptr exact)
{
    differences *d = user;
    bound within = d->within[output][index];
    long double value = d->values[output][index], is = mpfr_get_ld(exact, MPFR_RNDN);
    long double allowed = within.absolute >= 0 ? within.absolute / 100
                                               : dtype_ulp(VJP_F64, is) / 100 + within.own;
    if (!(fabsl(value - is) <= allowed))
        fail_msg("%s, output %d(%lld): %La, by MPFR %La", d->p->op->name, (int)output,
                 (long long)index, value, is);
    d->compared++;
}

static void the_oracle_agrees_with_mpfr(void **state)
{
    (void)state;
    static differences d;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            problem p = variant_problem(vjp_op_at(o), v);
            random_state random = random_start(random_seed(), (uint64_t)v);
            problem_contiguous(&p, VJP_F64, VJP_F64, 2, (int64_t[]){ 3, 1000 }, 1,
                               (int64_t[]){ 1 });
            double **inputs = draw_inputs(&p, &random);
            d.p = &p;
            d.compared = 0;
            oracle_answer(&p, (const double *const *)inputs, keep_value, &d);
            exact_answer(&p, (const double *const *)inputs, compare_value, &d);
            assert_true(d.compared >= 3);
            free_inputs(&p, inputs);
        }
    exact_close();
}

/* Next to a root of a slope the oracle allows itself nothing more than elsewhere. */
static void compare_next_to_root(void *user, int32_t output, int64_t index, mpfr_srcptr exact)
{
    differences *d = user;
    long double value = d->values[output][index], is = mpfr_get_ld(exact, MPFR_RNDN);
    long double allowed = dtype_ulp(VJP_F64, is) / 100;
    if (!(fabsl(value - is) <= allowed) || !(d->within[output][index].own <= allowed))
        fail_msg("%s: %La, by MPFR %La", d->p->op->name, value, is);
    d->compared++;
}

/* From the double next to the root outwards. */
static void check_next_to_root(problem *p, double root)
{
    static differences d;
    enum {
        STEPS = 50
    };
    double x[2 * STEPS], g[2 * STEPS];
    for (int i = 0; i < STEPS; i++) {
        double distance = ldexp(root, i - 53) / 3;
        x[2 * i] = root + distance;
        x[2 * i + 1] = root - distance;
        g[2 * i] = g[2 * i + 1] = 1;
    }
    problem_contiguous(p, VJP_F64, VJP_F64, 1, (int64_t[]){ 2 * STEPS }, 0, NULL);
    const double *inputs[] = { x, g };
    d.p = p;
    d.compared = 0;
    oracle_answer(p, inputs, keep_value, &d);
    exact_answer(p, inputs, compare_next_to_root, &d);
    assert_int_equal(d.compared, 2 * STEPS);
    exact_close();
}

static void slopes_keep_their_digits_next_to_their_roots(void **state)
{
    (void)state;
    problem mish = problem_start("mish_backward"), silu = problem_start("silu_backward");
    problem swish = silu, erf_form = problem_start("gelu_backward"), tanh_form = erf_form;
    problem_add_attr(&swish, vjp_attr_f64("alpha", 1.702));
    problem_add_attr(&tanh_form, vjp_attr_str("mode", "gelu_tanh"));
    check_next_to_root(&mish, -1.1924312145154952121);
    check_next_to_root(&silu, -1.2784645427610737951);
    check_next_to_root(&swish, -1.2784645427610737951 / 1.702);
    check_next_to_root(&erf_form, -0.75179152469356445746);
    check_next_to_root(&tanh_form, -0.75246142207101625849);
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
    assert_true(bound_sum_error(VJP_F32, 1025, 8, 0) == 1025 * 0x1p-149L);
    assert_true(fabsl(bound_sum_error(VJP_F16, 1025, 8, 1) - 19 * 0x1p-23L) < 0x1p-100L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_an_oracle),
        cmocka_unit_test(derivatives_agree_with_difference_quotients),
        cmocka_unit_test(sigmoid_from_its_result_is_sigmoid_from_its_input),
        cmocka_unit_test(softmax_agrees_with_difference_quotients),
        cmocka_unit_test(the_oracle_agrees_with_mpfr),
        cmocka_unit_test(slopes_keep_their_digits_next_to_their_roots),
        cmocka_unit_test(sixteen_bits_survive_the_way_there_and_back),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(formats_have_their_limits),
        cmocka_unit_test(bounds_hold_what_they_should_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
