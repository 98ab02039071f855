/* SPDX-License-Identifier: Apache-2.0 */
/* test_refuse.c - every request that plan creation refuses: with which status, and a reason that
 * names what is wrong. Each starts from a request that is accepted and changes one thing.
 * Attributes are in test_refuse_attributes.c, shapes in test_refuse_shapes.c.
 */
#include <string.h>

#include "arena.h"
#include "refusal.h"
#include "samples.h"
#include "unit.h"

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
    const char *op = p.op->name;
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
    const char *const names[] = { "", SAMPLE_MAP_CASE "_", SAMPLE_MAP "s",
                                  SAMPLE_MAP_CASE "_BACKWARD", (" " SAMPLE_MAP) };
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
            arguments without = {
                refusal_context, p.op->name, p.attrs, p.nattrs, list, p.ntensors
            };
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
        cmocka_unit_test(dtypes_that_do_not_exist),
        cmocka_unit_test(dtypes_that_do_not_go_together),
        cmocka_unit_test(dtypes_that_each_tensor_decides),
        cmocka_unit_test(reasons_fit_the_buffer_they_are_given),
        cmocka_unit_test(a_long_name_does_not_overrun_the_reason),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
