/* SPDX-License-Identifier: Apache-2.0 */
/* test_refuse_attributes.c - attributes that plan creation refuses, and the axis of a call. Each
 * starts from a request that is accepted and changes one thing.
 */
#include <math.h>
#include <string.h>

#include "refusal.h"
#include "samples.h"
#include "unit.h"

static problem with_numbers(void)
{
    problem p = problem_start(SAMPLE_NUMBERS);
    problem_add_attr(&p, vjp_attr_f32("alpha", 0.2f));
    problem_add_attr(&p, vjp_attr_f32("beta", 0.5f));
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
    return accepted(p);
}

static void with_attr(problem p, vjp_attr attr, words wanted)
{
    problem_add_attr(&p, attr);
    refused(&p, VJP_BAD_ATTRIBUTE, wanted);
}

static void attributes_unknown_or_given_twice(void **state)
{
    (void)state;
    problem p = refusal_map();
    with_attr(p, vjp_attr_f32("alpha", 1), WORDS("alpha"));
    with_attr(p, vjp_attr_bool("USE_DST", 1), WORDS("USE_DST"));
    with_attr(p, vjp_attr_bool("", 1), WORDS(""));
    problem_add_attr(&p, vjp_attr_bool("use_dst", 1));
    with_attr(accepted(p), vjp_attr_bool("use_dst", 1), WORDS("use_dst"));
}

static problem without_attr(problem p, const char *name)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < p.nattrs; i++)
        if (strcmp(p.attrs[i].name, name) != 0)
            p.attrs[kept++] = p.attrs[i];
    p.nattrs = kept;
    return p;
}

/* Each attribute that an operator requires, left out. */
static void attributes_that_are_missing(void **state)
{
    (void)state;
    int tried = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t a = 0; a < vjp_op_at(op)->nattrs; a++) {
            const vjp_attr_info *attr = vjp_op_attr(vjp_op_at(op), a);
            if (!attr->required)
                continue;
            problem p = without_attr(accepted(refusal_any(vjp_op_at(op))), attr->name);
            refused(&p, VJP_BAD_ATTRIBUTE, WORDS(attr->name, ": required by ", p.op->name));
            tried++;
        }
    assert_true(tried > 0);
}

static void attributes_of_the_wrong_type(void **state)
{
    (void)state;
    problem p = refusal_map(), numbers = with_numbers();
    problem axis = refusal_row(1), format = refusal_fold("NCX", 5);
    with_attr(p, vjp_attr_s64("use_dst", 1), WORDS("use_dst"));
    with_attr(p, vjp_attr_f32("use_dst", 1), WORDS("use_dst"));
    with_attr(p, vjp_attr_str("use_dst", "true"), WORDS("use_dst"));
    numbers.attrs[0] = vjp_attr_s64("alpha", 1);
    refused(&numbers, VJP_BAD_ATTRIBUTE, WORDS("alpha: expected f64, got s64"));
    numbers.attrs[0] = vjp_attr_f64("alpha", 0.2); /* and an F32 one is accepted, too */
    accepted(numbers);
    axis.attrs[0] = vjp_attr_f32("axis", 1);
    refused(&axis, VJP_BAD_ATTRIBUTE, WORDS("axis"));
    format.attrs[0] = vjp_attr_bool("data_format", 1);
    refused(&format, VJP_BAD_ATTRIBUTE, WORDS("data_format"));
    format.attrs[0].type = (vjp_attr_type)99;
    refused(&format, VJP_BAD_ATTRIBUTE, WORDS("data_format"));
}

static void attributes_of_a_value_not_allowed(void **state)
{
    (void)state;
    problem p = refusal_map();
    with_attr(p, vjp_attr_bool("use_dst", 2), WORDS("use_dst", "2"));
    with_attr(p, vjp_attr_bool("use_dst", -1), WORDS("use_dst", "-1"));
    const char *const formats[] = { "", "NHWC", "ncx", "NCX ", "NCX|NXC" };
    for (int64_t i = 0; i < COUNT_OF(formats); i++) {
        problem format = refusal_fold(formats[i], 5);
        refused(&format, VJP_BAD_ATTRIBUTE, WORDS("data_format", formats[i]));
    }
}

/* What the operators require of their numbers beyond the types. */
static void numbers_that_the_operator_refuses(void **state)
{
    (void)state;
    const char *const clamps[] = { "clamp", "clamp_backward" };
    for (int64_t i = 0; i < COUNT_OF(clamps); i++) {
        problem p = problem_start(clamps[i]);
        problem_add_attr(&p, vjp_attr_f64("min", -1));
        problem_add_attr(&p, vjp_attr_f64("max", -1));
        problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
        accepted(p);
        p.attrs[1] = vjp_attr_f64("max", -1.5);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS(clamps[i], ": attribute min: ", "at most max"));
        p.attrs[1] = vjp_attr_f64("max", (double)NAN);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS(clamps[i], ": attribute min: ", "at most max"));
        p.attrs[0] = vjp_attr_f32("min", NAN);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS(clamps[i], ": attribute min: ", "at most max"));
        p.attrs[0] = vjp_attr_f32("min", -INFINITY);
        p.attrs[1] = vjp_attr_f32("max", INFINITY);
        accepted(p);
    }
}

static void an_epsilon_below_0(void **state)
{
    (void)state;
    problem p = problem_start("rms_norm_backward");
    problem_add_attr(&p, vjp_attr_f64("epsilon", 0));
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
    accepted(p);
    p.attrs[0] = vjp_attr_f64("epsilon", -1e-9);
    refused(&p, VJP_BAD_ATTRIBUTE, WORDS("attribute epsilon: ", "not negative"));
    p.attrs[0] = vjp_attr_f64("epsilon", (double)NAN);
    refused(&p, VJP_BAD_ATTRIBUTE, WORDS("attribute epsilon: ", "not negative"));
}

static void products_of_attributes_out_of_range(void **state)
{
    (void)state;
    const char *const elus[] = { "elu", "elu_backward" };
    for (int64_t i = 0; i < COUNT_OF(elus); i++) {
        problem p = problem_start(elus[i]);
        problem_add_attr(&p, vjp_attr_f64("alpha", 1e-30));
        problem_add_attr(&p, vjp_attr_f64("input_scale", 1e30));
        problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
        accepted(p);
        p.attrs[1] = vjp_attr_f64("input_scale", 1e-10);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS("attribute alpha: scale * alpha * input_scale"));
        p.attrs[1] = vjp_attr_f64("scale", 1e69);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS("attribute alpha: scale * alpha * input_scale"));
    }
    problem p = problem_start("softplus");
    problem_add_attr(&p, vjp_attr_f64("beta", 0x1p-127));
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
    accepted(p);
    p.attrs[0] = vjp_attr_f64("beta", 0x1p-128);
    refused(&p, VJP_BAD_ATTRIBUTE, WORDS("attribute beta: 1 / beta"));
}

static void attributes_with_null_inside(void **state)
{
    (void)state;
    problem nameless = refusal_map(), valueless = refusal_fold(NULL, 5);
    problem_add_attr(&nameless, vjp_attr_bool(NULL, 1));
    refused(&nameless, VJP_BAD_ARGUMENT, WORDS("attr"));
    refused(&valueless, VJP_BAD_ARGUMENT, WORDS("data_format"));
}

static void axes_out_of_range(void **state)
{
    (void)state;
    const struct {
        int64_t axis;
        const char *text;
    } axes[] = { { 2, "2" },
                 { -3, "-3" },
                 { INT64_MAX, "9223372036854775807" },
                 { INT64_MIN, "-9223372036854775808" } };
    accepted(refusal_row(1));
    accepted(refusal_row(-2));
    for (int64_t i = 0; i < COUNT_OF(axes); i++) {
        problem p = refusal_row(axes[i].axis);
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS("axis", axes[i].text));
    }
}

static void the_default_axis_on_one_dim(void **state)
{
    (void)state;
    problem p = refusal_row(0);
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 5 }, 0, NULL);
    accepted(p);
    p.nattrs = 0;
    refused(&p, VJP_BAD_ATTRIBUTE, WORDS("axis", "1", "default"));
}

static void softmax_without_dims(void **state)
{
    (void)state;
    for (int64_t axis = -1; axis <= 1; axis++) {
        problem p = refusal_row(axis);
        problem_contiguous(&p, VJP_F32, VJP_F32, 0, NULL, 0, NULL);
        refused(&p, VJP_BAD_SHAPE, WORDS("axis"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_unknown_or_given_twice),
        cmocka_unit_test(attributes_that_are_missing),
        cmocka_unit_test(attributes_of_the_wrong_type),
        cmocka_unit_test(attributes_of_a_value_not_allowed),
        cmocka_unit_test(numbers_that_the_operator_refuses),
        cmocka_unit_test(an_epsilon_below_0),
        cmocka_unit_test(products_of_attributes_out_of_range),
        cmocka_unit_test(attributes_with_null_inside),
        cmocka_unit_test(axes_out_of_range),
        cmocka_unit_test(the_default_axis_on_one_dim),
        cmocka_unit_test(softmax_without_dims),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
