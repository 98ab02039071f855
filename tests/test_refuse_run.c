/* SPDX-License-Identifier: Apache-2.0 */
/* test_refuse_run.c - addresses and workspaces that a run refuses, with its status; the check
 * beforehand says the same and why; and nothing is written.
 *
 * The operands are slices of one buffer of floats, so that they can overlap in every way.
 */
#include <stdlib.h>
#include <string.h>

#include "refusal.h"
#include "samples.h"
#include "unit.h"

enum {
    FLOATS = 4096,
    ROWS = 6,
    COLUMNS = 10
};

static float buffer[FLOATS];

static void fill_buffer(float *floats)
{
    for (int i = 0; i < FLOATS; i++)
        floats[i] = (float)(i % 17 - 8) + 0.5f;
}

static vjp_plan *plan_of(const problem *p)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    assert_status(VJP_OK, problem_create(p, refusal_context, &plan, reason), reason);
    return plan;
}

/* Check and run with the addresses of all tensors in one list, which may be NULL. */
static vjp_status check_run(const vjp_plan *plan, int32_t ninputs, void *const *data,
                            const void *workspace, size_t size, char *reason)
{
    return vjp_plan_check(plan, (const void *const *)data, data ? data + ninputs : NULL, workspace,
                          size, reason, VJP_REASON_SIZE);
}

static vjp_status run(const vjp_plan *plan, int32_t ninputs, void *const *data, void *workspace,
                      size_t size)
{
    return vjp_plan_run(plan, (const void *const *)data, data ? data + ninputs : NULL, workspace,
                        size, NULL);
}

/* run_refused - check and run say `status`, and the buffer stays as it is. */
static void run_refused(const problem *p, void *const *data, vjp_status status, words wanted)
{
    static float before[FLOATS];
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = plan_of(p);
    size_t size = vjp_plan_workspace_size(plan);
    void *workspace = unit_malloc(size);
    fill_buffer(buffer);
    fill_buffer(before);
    assert_status(status, check_run(plan, p->op->ninputs, data, workspace, size, reason),
                  reason);
    assert_status(status, run(plan, p->op->ninputs, data, workspace, size), reason);
    check_reason(reason, wanted);
    assert_memory_equal(buffer, before, sizeof before);
    free(workspace);
    vjp_plan_destroy(plan);
}

/* run_accepted - neither check nor run refuse. */
static void run_accepted(const problem *p, void *const *data)
{
    char reason[VJP_REASON_SIZE] = "?";
    vjp_plan *plan = plan_of(p);
    size_t size = vjp_plan_workspace_size(plan);
    void *workspace = unit_malloc(size);
    fill_buffer(buffer);
    assert_status(VJP_OK, check_run(plan, p->op->ninputs, data, workspace, size, reason),
                  reason);
    assert_string_equal(reason, "");
    assert_status(VJP_OK, run(plan, p->op->ninputs, data, workspace, size), reason);
    free(workspace);
    vjp_plan_destroy(plan);
}

/* A map of ROWS x COLUMNS with these row strides for src, diff_dst, diff_src. */
static problem map_rows(int64_t src, int64_t diff_dst, int64_t diff_src)
{
    problem p = problem_start(SAMPLE_MAP);
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ ROWS, COLUMNS }, 0, NULL);
    p.tensors[0].strides[0] = src;
    p.tensors[1].strides[0] = diff_dst;
    p.tensors[2].strides[0] = diff_src;
    return p;
}

/* ---- pointers ----------------------------------------------------------------------------- */

static void without_outputs_refused(const problem *p, void *const *data)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = plan_of(p);
    const void *const *inputs = (const void *const *)data;
    assert_status(VJP_BAD_ARGUMENT,
                  vjp_plan_check(plan, inputs, NULL, NULL, 0, reason, sizeof reason), reason);
    check_reason(reason, WORDS("outputs is NULL"));
    assert_status(VJP_BAD_ARGUMENT, vjp_plan_run(plan, inputs, NULL, NULL, 0, NULL), NULL);
    vjp_plan_destroy(plan);
}

static void null_plans_and_buffers(void **state)
{
    (void)state;
    problem p = refusal_map();
    void *data[] = { buffer, buffer + 100, buffer + 200 };
    char reason[VJP_REASON_SIZE] = "";
    assert_status(VJP_BAD_ARGUMENT, run(NULL, 2, data, NULL, 0), NULL);
    assert_status(VJP_BAD_ARGUMENT, check_run(NULL, 2, data, NULL, 0, reason), reason);
    run_refused(&p, NULL, VJP_BAD_ARGUMENT, WORDS("inputs is NULL"));
    without_outputs_refused(&p, data);
    for (int32_t t = 0; t < 3; t++) {
        void *holed[] = { data[0], data[1], data[2] };
        holed[t] = NULL;
        run_refused(&p, holed, VJP_BAD_ARGUMENT,
                    WORDS(vjp_op_tensor(p.op, t)->name, "data pointer is NULL"));
    }
    run_accepted(&p, data);
}

static void pointers_between_elements(void **state)
{
    (void)state;
    for (int32_t t = 0; t < 3; t++)
        for (int shift = 1; shift < 4; shift++) {
            problem p = refusal_map();
            void *data[] = { buffer, buffer + 100, buffer + 200 };
            data[t] = (char *)data[t] + shift;
            run_refused(&p, data, VJP_BAD_ALIGNMENT, WORDS(vjp_op_tensor(p.op, t)->name));
        }
}

static void sixteen_bit_data_may_lie_at_any_even_address(void **state)
{
    (void)state;
    problem p = problem_start(SAMPLE_MAP);
    problem_contiguous(&p, VJP_F16, VJP_F16, 1, (int64_t[]){ 100 }, 0, NULL);
    char *bytes = (char *)buffer;
    void *data[] = { bytes + 2, bytes + 406, bytes + 810 };
    run_accepted(&p, data);
    data[2] = bytes + 811;
    run_refused(&p, data, VJP_BAD_ALIGNMENT, WORDS("diff_src"));
}

/* ---- overlap ------------------------------------------------------------------------------ */

static void an_output_that_overlaps_an_input_partly(void **state)
{
    (void)state;
    const ptrdiff_t shifts[] = { 1, -1, COLUMNS, -COLUMNS, ROWS * COLUMNS - 1 };
    problem p = map_rows(COLUMNS, COLUMNS, COLUMNS);
    float *here = buffer + 1000, *elsewhere = buffer + 2000;
    for (int64_t i = 0; i < COUNT_OF(shifts); i++) {
        void *over_src[] = { here, elsewhere, here + shifts[i] };
        void *over_gradient[] = { elsewhere, here, here + shifts[i] };
        run_refused(&p, over_src, VJP_BAD_ALIAS, WORDS("diff_src: overlaps src"));
        run_refused(&p, over_gradient, VJP_BAD_ALIAS, WORDS("diff_src: overlaps diff_dst"));
    }
    void *beside[] = { here, elsewhere, here + ROWS * COLUMNS };
    run_accepted(&p, beside);
}

static void an_output_in_place_of_any_inputs(void **state)
{
    (void)state;
    problem p = map_rows(COLUMNS, COLUMNS, COLUMNS);
    float *a = buffer, *b = buffer + 1000;
    run_accepted(&p, (void *[]){ a, b, a });
    run_accepted(&p, (void *[]){ a, b, b });
    run_accepted(&p, (void *[]){ a, a, a });
    run_accepted(&p, (void *[]){ a, a, b });
    run_accepted(&p, (void *[]){ a, a + 3, b }); /* inputs may overlap as they like */
}

static void an_output_in_place_with_other_strides(void **state)
{
    (void)state;
    problem p = map_rows(2 * COLUMNS, COLUMNS, COLUMNS);
    float *a = buffer, *b = buffer + 1000;
    run_refused(&p, (void *[]){ a, b, a }, VJP_BAD_ALIAS, WORDS("diff_src", "src"));
    problem broadcast = map_rows(0, COLUMNS, COLUMNS);
    run_refused(&broadcast, (void *[]){ a, b, a }, VJP_BAD_ALIAS, WORDS("diff_src", "src"));
    problem reversed = map_rows(-COLUMNS, COLUMNS, COLUMNS);
    run_refused(&reversed, (void *[]){ a + (ROWS - 1) * COLUMNS, b, a }, VJP_BAD_ALIAS,
                WORDS("diff_src", "src"));
}

static void an_output_in_place_with_another_dtype(void **state)
{
    (void)state;
    problem p = problem_start(SAMPLE_ROWS);
    problem_contiguous(&p, VJP_BF16, VJP_F32, 2, (int64_t[]){ 4, 8 }, 0, NULL);
    problem_drop_inputs(&p);
    run_refused(&p, (void *[]){ buffer, buffer + 100, NULL, NULL, buffer }, VJP_BAD_ALIAS,
                WORDS("diff_src", "diff_dst"));
    run_refused(&p, (void *[]){ buffer, buffer + 100, NULL, NULL, buffer + 90 }, VJP_BAD_ALIAS,
                WORDS("diff_src", "dst"));
}

static void strides_of_dims_of_one_do_not_count_as_other_strides(void **state)
{
    (void)state;
    problem p = problem_start(SAMPLE_MAP);
    problem_contiguous(&p, VJP_F32, VJP_F32, 3, (int64_t[]){ 1, 5, 1 }, 0, NULL);
    p.tensors[0].strides[0] = 77;
    p.tensors[2].strides[2] = -3;
    run_accepted(&p, (void *[]){ buffer, buffer + 100, buffer });
}

static void slices_that_interleave_without_touching(void **state)
{
    (void)state;
    problem halves = map_rows(2 * COLUMNS, 2 * COLUMNS, 2 * COLUMNS);
    run_accepted(&halves, (void *[]){ buffer, buffer + 2000, buffer + COLUMNS });
    run_refused(&halves, (void *[]){ buffer, buffer + 2000, buffer + COLUMNS - 1 }, VJP_BAD_ALIAS,
                WORDS("diff_src", "src"));
    problem thirds = map_rows(3 * COLUMNS, 3 * COLUMNS, 3 * COLUMNS);
    run_accepted(&thirds, (void *[]){ buffer, buffer + COLUMNS, buffer + 2 * COLUMNS });
}

static void even_and_odd_columns_do_not_touch(void **state)
{
    (void)state;
    problem p = map_rows(2 * COLUMNS, 2 * COLUMNS, 2 * COLUMNS);
    for (int32_t t = 0; t < 3; t++)
        p.tensors[t].strides[1] = 2;
    run_accepted(&p, (void *[]){ buffer, buffer + 2000, buffer + 1 });
}

/* No two elements meet: that would take 504 rows from one to the other. But to see it takes a step
 * for each row, and after 512 it is not known. The addresses are never used. */
static void an_output_that_may_overlap_for_all_that_is_known(void **state)
{
    (void)state;
    problem p = problem_start(SAMPLE_MAP);
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, (int64_t[]){ 500, 1000 }, 0, NULL);
    for (int32_t t = 0; t < 3; t++)
        memcpy(p.tensors[t].strides, (int64_t[]){ 1013, 1009 }, 2 * sizeof(int64_t));
    void *far_away = (void *)((uintptr_t)buffer + (1 << 23));
    run_refused(&p, (void *[]){ buffer, far_away, buffer + 2 }, VJP_BAD_ALIAS,
                WORDS("diff_src: may overlap src"));
    run_refused(&p, (void *[]){ buffer, far_away, buffer + 4 }, VJP_BAD_ALIAS,
                WORDS("diff_src: overlaps src"));
}

/* ---- two outputs -------------------------------------------------------------------------- */

static void the_outputs_of_a_fold_may_not_overlap(void **state)
{
    (void)state;
    problem p = accepted(refusal_fold("NCX", 5));
    float *src = buffer, *slope = buffer + 500, *gradient = buffer + 1000, *out = buffer + 1500;
    run_accepted(&p, (void *[]){ src, slope, gradient, out, buffer + 2000 });
    run_accepted(&p, (void *[]){ src, slope, gradient, src, slope });
    run_accepted(&p, (void *[]){ src, slope, gradient, gradient, slope });
    run_refused(&p, (void *[]){ src, slope, gradient, out, out }, VJP_BAD_ALIAS,
                WORDS("diff_slope: overlaps diff_src, which is an output too"));
    run_refused(&p, (void *[]){ src, slope, gradient, out, out + 69 }, VJP_BAD_ALIAS,
                WORDS("diff_slope", "diff_src"));
    run_refused(&p, (void *[]){ src, slope, gradient, out, slope + 1 }, VJP_BAD_ALIAS,
                WORDS("diff_slope", "slope"));
    run_refused(&p, (void *[]){ src, slope, gradient, out, src + 3 }, VJP_BAD_ALIAS,
                WORDS("diff_slope", "src"));
    run_refused(&p, (void *[]){ src, slope, gradient, slope - 2, out }, VJP_BAD_ALIAS,
                WORDS("diff_src", "slope"));
}

/* ---- workspace ---------------------------------------------------------------------------- */

/* A problem that needs workspace, if the library has any such. */
static vjp_plan *plan_with_workspace(int32_t *ninputs)
{
    const int64_t shapes[][2] = {
        { 1 << 14, 64 }, { 64, 1 << 14 }, { 1, 1 << 20 }, { 1 << 20, 3 }, { 300, 301 }
    };
    const char *const ops[] = { SAMPLE_FOLD, SAMPLE_ROWS };
    for (int64_t i = 0; i < COUNT_OF(ops); i++)
        for (int64_t s = 0; s < COUNT_OF(shapes); s++)
            for (int rule = 0; rule < 3; rule++) {
                problem p = problem_start(ops[i]);
                problem_contiguous(&p, VJP_BF16, VJP_BF16, 2, shapes[s], rule == 0 ? 0 : 1,
                                   rule == 1 ? (int64_t[]){ 1 } : &shapes[s][1]);
                problem_drop_inputs(&p);
                vjp_plan *plan = plan_of(&p);
                *ninputs = p.op->ninputs;
                if (vjp_plan_workspace_size(plan) > 0)
                    return plan;
                vjp_plan_destroy(plan);
            }
    return NULL;
}

static void workspaces_missing_or_too_small(void **state)
{
    (void)state;
    int32_t n;
    vjp_plan *plan = plan_with_workspace(&n);
    if (plan == NULL)
        skip();
    size_t size = vjp_plan_workspace_size(plan), data_size = (size_t)8 << 20;
    char *memory = unit_malloc(5 * data_size), *workspace = unit_malloc(size);
    char reason[VJP_REASON_SIZE] = "";
    void *data[5];
    for (int t = 0; t < 5; t++)
        data[t] = memory + (size_t)t * data_size;
    memset(memory, 0xa5, 5 * data_size);
    assert_status(VJP_BAD_WORKSPACE, run(plan, n, data, NULL, size), NULL);
    assert_status(VJP_BAD_WORKSPACE, run(plan, n, data, NULL, 0), NULL);
    assert_status(VJP_BAD_WORKSPACE, run(plan, n, data, workspace, size - 1), NULL);
    assert_status(VJP_BAD_WORKSPACE, check_run(plan, n, data, workspace, size - 1, reason), reason);
    check_reason(reason, WORDS("workspace"));
    for (size_t i = 0; i < 5 * data_size; i++)
        if ((unsigned char)memory[i] != 0xa5)
            fail_msg("a refused run wrote byte %zu", i);
    free(workspace);
    free(memory);
    vjp_plan_destroy(plan);
}

/* ---- the call without a plan -------------------------------------------------------------- */

static void compute_refuses_as_create_and_run_do(void **state)
{
    (void)state;
    problem p = refusal_map();
    const vjp_tensor *list[] = { &p.tensors[0], &p.tensors[1], &p.tensors[2] };
    const void *inputs[] = { buffer, buffer + 100 };
    void *outputs[] = { buffer + 1 };
    float before[FLOATS];
    char reason[VJP_REASON_SIZE] = "";
    fill_buffer(buffer);
    memcpy(before, buffer, sizeof before);
    assert_status(VJP_BAD_ALIAS,
                  vjp_compute(refusal_context, SAMPLE_MAP, NULL, 0, list, 3, inputs, outputs,
                              reason, sizeof reason),
                  reason);
    check_reason(reason, WORDS("diff_src", "src"));
    assert_status(
        VJP_BAD_OP,
        vjp_compute(NULL, "dropout", NULL, 0, list, 3, inputs, outputs, reason, sizeof reason),
        reason);
    check_reason(reason, WORDS("dropout"));
    assert_status(
        VJP_BAD_ARGUMENT,
        vjp_compute(NULL, SAMPLE_MAP, NULL, 0, list, 3, NULL, outputs, reason, sizeof reason),
        reason);
    assert_memory_equal(buffer, before, sizeof before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_plans_and_buffers),
        cmocka_unit_test(pointers_between_elements),
        cmocka_unit_test(sixteen_bit_data_may_lie_at_any_even_address),
        cmocka_unit_test(an_output_that_overlaps_an_input_partly),
        cmocka_unit_test(an_output_in_place_of_any_inputs),
        cmocka_unit_test(an_output_in_place_with_other_strides),
        cmocka_unit_test(an_output_in_place_with_another_dtype),
        cmocka_unit_test(strides_of_dims_of_one_do_not_count_as_other_strides),
        cmocka_unit_test(slices_that_interleave_without_touching),
        cmocka_unit_test(even_and_odd_columns_do_not_touch),
        cmocka_unit_test(an_output_that_may_overlap_for_all_that_is_known),
        cmocka_unit_test(the_outputs_of_a_fold_may_not_overlap),
        cmocka_unit_test(workspaces_missing_or_too_small),
        cmocka_unit_test(compute_refuses_as_create_and_run_do),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
