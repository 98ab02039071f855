/* SPDX-License-Identifier: Apache-2.0 */
/* test_refuse.c - every request that plan creation refuses: with which status, and a reason that
 * names what is wrong. Each starts from a request that is accepted and changes one thing.
 */
#include <math.h>
#include <string.h>

#include "arena.h"
#include "refusal.h"
#include "unit.h"

static problem hard_sigmoid(void)
{
    problem p = problem_start("hard_sigmoid_backward");
    problem_add_attr(&p, vjp_attr_f32("alpha", 0.2f));
    problem_add_attr(&p, vjp_attr_f32("beta", 0.5f));
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 9 }, 0, NULL);
    return accepted(p);
}

/* ---- arguments ---------------------------------------------------------------------------- */

typedef struct arguments {
    vjp_context *ctx;
    const char *op;
    const vjp_attr *attrs;
    int32_t nattrs;
    const vjp_tensor *const *tensors;
    int32_t ntensors;
} arguments;

static void arguments_refused(arguments a, vjp_status status, words wanted)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NOT_A_PLAN;
    vjp_status got = vjp_plan_create(a.ctx, a.op, a.attrs, a.nattrs, a.tensors, a.ntensors, &plan,
                                     reason, sizeof reason);
    assert_status(status, got, reason);
    assert_null(plan);
    check_reason(reason, wanted);
}

static void null_and_miscounted_arguments(void **state)
{
    (void)state;
    problem p = refusal_map();
    const vjp_tensor *list[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2], &p.tensors[2] };
    const vjp_tensor *holed[] = { &p.tensors[0], NULL, &p.tensors[2] };
    vjp_context *ctx = refusal_context;
    const char *op = "relu_backward";
    const struct {
        arguments a;
        words wanted;
    } bad[] = {
        { { NULL, op, NULL, 0, list, 3 }, { { "ctx" } } },
        { { ctx, NULL, NULL, 0, list, 3 }, { { "op" } } },
        { { ctx, op, NULL, 1, list, 3 }, { { "attrs" } } },
        { { ctx, op, NULL, -1, list, 3 }, { { "attrs" } } },
        { { ctx, op, NULL, 0, NULL, 3 }, { { "tensors" } } },
        { { ctx, op, NULL, 0, holed, 3 }, { { "diff_dst: required by", op, "not given" } } },
        { { ctx, op, NULL, 0, list, 2 }, { { "diff_src: required by", op, "not given" } } },
        { { ctx, op, NULL, 0, list, 0 }, { { "src: required by", op, "not given" } } },
        { { ctx, op, NULL, 0, list, 4 }, { { "4", "3" } } },
        { { ctx, op, NULL, 0, list, -1 }, { { "-1", "3" } } },
    };
    for (int64_t i = 0; i < COUNT_OF(bad); i++)
        arguments_refused(bad[i].a, VJP_BAD_ARGUMENT, bad[i].wanted);
    vjp_status without_plan = vjp_plan_create(ctx, op, NULL, 0, list, 3, NULL, NULL, 0);
    assert_status(VJP_BAD_ARGUMENT, without_plan, NULL);
}

static void operators_that_do_not_exist(void **state)
{
    (void)state;
    problem p = refusal_map();
    const vjp_tensor *list[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2] };
    const char *const names[] = { "", "rel", "relu_backwards", "RELU_BACKWARD", " relu_backward" };
    for (int64_t i = 0; i < COUNT_OF(names); i++)
        arguments_refused((arguments){ refusal_context, names[i], NULL, 0, list, 3 }, VJP_BAD_OP,
                          WORDS(names[i]));
}

/* Smaller than that of the first release, or larger than that of any. */
static void tensors_of_an_impossible_struct_size(void **state)
{
    (void)state;
    const size_t sizes[] = { 0, 8, sizeof(vjp_tensor) - 1, 4097, SIZE_MAX };
    for (int64_t i = 0; i < COUNT_OF(sizes); i++) {
        problem p = refusal_map();
        p.tensors[1].struct_size = sizes[i];
        refused(&p, VJP_BAD_ARGUMENT, WORDS("diff_dst", "struct_size"));
    }
}

/* A caller of a later version: what this library does not know must be 0. The struct ends at a page
 * that cannot be read. */
static void tensors_of_a_larger_struct_size(void **state)
{
    (void)state;
    const size_t sizes[] = { sizeof(vjp_tensor) + 1, sizeof(vjp_tensor) + 64, 4096 };
    for (int64_t i = 0; i < COUNT_OF(sizes); i++) {
        problem p = refusal_map();
        arena newer = arena_open(sizes[i], ARENA_AT_END);
        const vjp_tensor *list[] = { &p.tensors[0], (vjp_tensor *)(void *)newer.bytes,
                                     &p.tensors[2] };
        char reason[VJP_REASON_SIZE] = "";
        vjp_plan *plan = NULL;
        memset(newer.bytes, 0, sizes[i]);
        memcpy(newer.bytes, &p.tensors[1], sizeof p.tensors[1]);
        memcpy(newer.bytes, &sizes[i], sizeof sizes[i]);
        vjp_status status = vjp_plan_create(refusal_context, p.op->name, NULL, 0, list, 3, &plan,
                                            reason, sizeof reason);
        assert_status(VJP_OK, status, reason);
        vjp_plan_destroy(plan);
        newer.bytes[sizes[i] - 1] = 1;
        arguments_refused((arguments){ refusal_context, p.op->name, NULL, 0, list, 3 },
                          VJP_BAD_ARGUMENT, WORDS("diff_dst: byte"));
        arena_close(&newer);
    }
}

/* Every tensor of every operator in turn: NULL, or behind the last one given. */
static void tensors_that_are_missing(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        problem p = accepted(refusal_any(vjp_op_at(op)));
        for (int32_t t = 0; t < p.ntensors; t++) {
            const vjp_tensor *list[PROBLEM_TENSORS];
            const char *name = vjp_op_tensor(p.op, t)->name;
            arguments without = { refusal_context, p.op->name, p.attrs, p.nattrs, list, p.ntensors };
            for (int32_t i = 0; i < p.ntensors; i++)
                list[i] = i == t ? NULL : &p.tensors[i];
            if (vjp_op_tensor(p.op, t)->flags & VJP_TENSOR_OPTIONAL)
                continue;
            arguments_refused(without, VJP_BAD_ARGUMENT,
                              WORDS(name, ": required by ", p.op->name, ", but not given"));
            without.ntensors = t;
            arguments_refused(without, VJP_BAD_ARGUMENT,
                              WORDS(name, ": required by ", p.op->name, ", but not given"));
        }
    }
}

static void more_tensors_than_the_operator_has(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        problem p = accepted(refusal_any(vjp_op_at(op)));
        const vjp_tensor *list[PROBLEM_TENSORS + 1] = { NULL };
        for (int32_t i = 0; i < p.ntensors; i++)
            list[i] = &p.tensors[i];
        arguments_refused((arguments){ refusal_context, p.op->name, p.attrs, p.nattrs, list,
                                       p.ntensors + 1 },
                          VJP_BAD_ARGUMENT, WORDS("ntensors is", p.op->name, " has "));
    }
}

/* ---- attributes --------------------------------------------------------------------------- */

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

static void attributes_that_are_missing(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        problem p = hard_sigmoid();
        p.attrs[0] = p.attrs[1 - missing];
        p.nattrs = 1;
        refused(&p, VJP_BAD_ATTRIBUTE, WORDS(missing == 0 ? "alpha" : "beta"));
    }
}

static void attributes_of_the_wrong_type(void **state)
{
    (void)state;
    problem p = refusal_map(), line = hard_sigmoid();
    problem axis = refusal_row(1), format = refusal_fold("NCX", 5);
    with_attr(p, vjp_attr_s64("use_dst", 1), WORDS("use_dst"));
    with_attr(p, vjp_attr_f32("use_dst", 1), WORDS("use_dst"));
    with_attr(p, vjp_attr_str("use_dst", "true"), WORDS("use_dst"));
    line.attrs[0] = vjp_attr_s64("alpha", 1);
    refused(&line, VJP_BAD_ATTRIBUTE, WORDS("alpha: expected f64, got s64"));
    line.attrs[0] = vjp_attr_f64("alpha", 0.2); /* and an F32 one is accepted, too */
    accepted(line);
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

/* ---- dtypes ------------------------------------------------------------------------------- */

static void dtypes_that_do_not_exist(void **state)
{
    (void)state;
    const int numbers[] = { 0, 8, 99, -1 };
    for (int64_t i = 0; i < COUNT_OF(numbers); i++)
        for (int32_t t = 0; t < 3; t++) {
            problem p = refusal_map();
            p.tensors[t].dtype = (vjp_dtype)numbers[i];
            refused(&p, VJP_BAD_DTYPE, WORDS(vjp_op_tensor(p.op, t)->name));
        }
}

static void dtypes_refused(problem p, const vjp_dtype *dtypes, const char *culprit)
{
    for (int32_t t = 0; t < p.ntensors; t++)
        if (problem_has(&p, t))
            p.tensors[t].dtype = *dtypes++;
    refused(&p, VJP_BAD_DTYPE, WORDS(culprit));
}

static void dtypes_that_do_not_go_together(void **state)
{
    (void)state;
    const vjp_dtype D = VJP_F64, S = VJP_F32, H = VJP_F16, B = VJP_BF16;
    dtypes_refused(refusal_map(), (vjp_dtype[]){ S, H, S }, "diff_dst");
    dtypes_refused(refusal_map(), (vjp_dtype[]){ H, H, S }, "diff_src");
    dtypes_refused(refusal_map(), (vjp_dtype[]){ H, H, B }, "diff_src");
    dtypes_refused(refusal_row(1), (vjp_dtype[]){ H, B, H }, "dst");
    dtypes_refused(refusal_row(1), (vjp_dtype[]){ S, S, H }, "diff_src");
    dtypes_refused(refusal_row(1), (vjp_dtype[]){ D, D, S }, "diff_src");
    dtypes_refused(refusal_row(1), (vjp_dtype[]){ H, H, D }, "diff_src");
    dtypes_refused(refusal_row(1), (vjp_dtype[]){ H, H, B }, "diff_src");
    problem p = accepted(refusal_fold("NCX", 5));
    dtypes_refused(p, (vjp_dtype[]){ H, S, H, S, S }, "diff_src");
    dtypes_refused(p, (vjp_dtype[]){ D, S, D, D, S }, "slope");
    dtypes_refused(p, (vjp_dtype[]){ B, H, B, B, H }, "slope");
    dtypes_refused(p, (vjp_dtype[]){ S, H, S, S, H }, "slope");
}

/* Each tensor that may be wider decides for itself. */
static void dtypes_that_each_tensor_decides(void **state)
{
    (void)state;
    const vjp_dtype S = VJP_F32, H = VJP_F16, B = VJP_BF16;
    const vjp_dtype dtypes[][5] = { { H, S, H, H, H }, { H, H, H, H, S }, { B, S, B, B, S } };
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++) {
        problem p = refusal_fold("NCX", 5);
        for (int32_t t = 0; t < p.ntensors; t++)
            p.tensors[t].dtype = dtypes[i][t];
        accepted(p);
    }
}

/* ---- reasons ------------------------------------------------------------------------------ */

static vjp_status refuse_into(char *reason, size_t size)
{
    problem p = refusal_map();
    const vjp_tensor *list[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2] };
    vjp_plan *plan = NOT_A_PLAN;
    vjp_status status =
        vjp_plan_create(refusal_context, "no_such_op", NULL, 0, list, 3, &plan, reason, size);
    assert_null(plan);
    return status;
}

static void reasons_fit_the_buffer_they_are_given(void **state)
{
    (void)state;
    char whole[VJP_REASON_SIZE], part[VJP_REASON_SIZE];
    assert_status(VJP_BAD_OP, refuse_into(NULL, 0), NULL);
    assert_status(VJP_BAD_OP, refuse_into(NULL, 100), NULL);
    assert_status(VJP_BAD_OP, refuse_into(whole, sizeof whole), whole);
    assert_true(strlen(whole) > 8);
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        memset(part, '#', sizeof part);
        assert_status(VJP_BAD_OP, refuse_into(part, size), NULL);
        for (size_t i = size; i < sizeof part; i++)
            assert_int_equal(part[i], '#');
        if (size == 0)
            continue;
        assert_int_equal(part[size - 1], '\0');
        assert_memory_equal(part, whole, size - 1);
    }
}

static void a_long_name_does_not_overrun_the_reason(void **state)
{
    (void)state;
    char name[4096], reason[VJP_REASON_SIZE + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    reason[VJP_REASON_SIZE] = '#';
    problem p = refusal_map();
    const vjp_tensor *list[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2] };
    vjp_plan *plan = NULL;
    vjp_status status =
        vjp_plan_create(refusal_context, name, NULL, 0, list, 3, &plan, reason, VJP_REASON_SIZE);
    assert_status(VJP_BAD_OP, status, NULL);
    assert_int_equal(reason[VJP_REASON_SIZE], '#');
    assert_true(memchr(reason, '\0', VJP_REASON_SIZE) != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_miscounted_arguments),
        cmocka_unit_test(operators_that_do_not_exist),
        cmocka_unit_test(tensors_of_an_impossible_struct_size),
        cmocka_unit_test(tensors_of_a_larger_struct_size),
        cmocka_unit_test(tensors_that_are_missing),
        cmocka_unit_test(more_tensors_than_the_operator_has),
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
        cmocka_unit_test(dtypes_that_do_not_exist),
        cmocka_unit_test(dtypes_that_do_not_go_together),
        cmocka_unit_test(dtypes_that_each_tensor_decides),
        cmocka_unit_test(reasons_fit_the_buffer_they_are_given),
        cmocka_unit_test(a_long_name_does_not_overrun_the_reason),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
