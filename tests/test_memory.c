/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - what is allocated, and when: the allocator hook, the failure of each allocation,
 * the size of workspaces, and that a run allocates nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "cases.h"
#include "contexts.h"
#include "kinds.h"
#include "refusal.h"
#include "samples.h"
#include "trial.h"
#include "unit.h"
#include "variants.h"

/* ---- an allocator that counts and fails --------------------------------------------------- */

typedef struct counter {
    int64_t calls, live;
} counter;

static void *counted_allocate(void *user, size_t size)
{
    counter *c = user;
    void *memory = malloc(size);
    c->calls++;
    c->live += memory != NULL;
    return memory;
}

static void counted_deallocate(void *user, void *memory)
{
    counter *c = user;
    if (memory != NULL)
        c->live--;
    free(memory);
}

static vjp_context_options counted_options(counter *c)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.allocate = counted_allocate;
    options.deallocate = counted_deallocate;
    options.allocator_user = c;
    return options;
}

/* Large enough that sums need workspace wherever the library has a use for it. */
static problem wide_fold(void)
{
    problem p = problem_start(SAMPLE_FOLD);
    problem_contiguous(&p, VJP_BF16, VJP_BF16, 2, (int64_t[]){ 5000, 64 }, 1, (int64_t[]){ 64 });
    return p;
}

static void a_plan_is_one_allocation_and_a_run_none(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < 40 && unit_tries(vjp_op_at(op)); number++) {
            counter c = { 0, 0 };
            vjp_context_options options = counted_options(&c);
            problem p = case_draw(vjp_op_at(op)->name, VJP_F32, VJP_F32, number);
            vjp_context *ctx = context_for_isa("scalar", &options);
            vjp_plan *plan = NULL;
            trial t;
            int64_t before = c.calls;
            assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
            assert_int_equal(c.calls, before + 1);
            trial_open(&t, &p, number);
            trial_prepare(&t, 0xa5);
            assert_status(VJP_OK, trial_run_plan(&t, plan), NULL);
            assert_int_equal(c.calls, before + 1);
            trial_close(&t);
            vjp_plan_destroy(plan);
            vjp_context_destroy(ctx);
            assert_int_equal(c.live, 0);
        }
}

static void a_run_does_not_call_malloc(void **state)
{
    (void)state;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    if (!ALLOCATIONS_COUNTED)
        skip();
    vjp_context *ctx = context_for_isa("scalar", &options);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < 40 && unit_tries(vjp_op_at(op)); number++) {
            problem p = case_draw(vjp_op_at(op)->name, VJP_F16, VJP_F16, number);
            vjp_plan *plan = NULL;
            trial t;
            trial_open(&t, &p, number);
            assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
            void *workspace = unit_malloc(vjp_plan_workspace_size(plan));
            allocations_begin(0, FAULT_ONCE);
            vjp_status status = vjp_plan_run(plan, trial_inputs(&t), trial_outputs(&t), workspace,
                                             vjp_plan_workspace_size(plan), NULL);
            assert_int_equal(allocations_end().calls, 0);
            assert_status(VJP_OK, status, NULL);
            free(workspace);
            vjp_plan_destroy(plan);
            trial_close(&t);
        }
    vjp_context_destroy(ctx);
}

/* GNU's OpenMP allocates a team of threads when the team size changes. LLVM's allocates whenever it
 * starts work, and is not tested. */
static void runs_of_more_and_fewer_tasks_do_not_call_malloc(void **state)
{
    (void)state;
    static float data[3][1 << 20];
    static const int64_t counts[] = { 1 << 20, 1 << 18, 1 << 20, 1 << 18 };
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 5;
#if defined(__clang__)
    skip();
#endif
    vjp_context *ctx = context_for_isa("scalar", &options);
    for (int64_t i = 0; i < COUNT_OF(counts); i++) {
        problem p = problem_start(SAMPLE_MAP);
        problem_contiguous(&p, VJP_F32, VJP_F32, 1, &counts[i], 0, NULL);
        vjp_plan *plan = NULL;
        assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
        allocations_begin(0, FAULT_ONCE);
        const void *inputs[] = { data[0], data[1] };
        void *outputs[] = { data[2] };
        vjp_status status = vjp_plan_run(plan, inputs, outputs, NULL, 0, NULL);
        int64_t calls = allocations_end().calls;
        assert_status(VJP_OK, status, NULL);
        if (i > 0) /* the first starts the threads */
            assert_int_equal(calls, 0);
        vjp_plan_destroy(plan);
    }
    vjp_context_destroy(ctx);
}

static void the_hook_takes_the_place_of_malloc(void **state)
{
    (void)state;
    counter c = { 0, 0 };
    vjp_context_options options = counted_options(&c);
    problem p = wide_fold();
    vjp_plan *plan = NULL;
    vjp_context *ctx = NULL;
    if (!ALLOCATIONS_COUNTED)
        skip();
    allocations_begin(0, FAULT_ONCE);
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, NULL, 0), NULL);
    assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
    assert_int_equal(allocations_end().calls, c.calls);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
}

static void memory_goes_with_the_last_of_context_and_plans(void **state)
{
    (void)state;
    counter c = { 0, 0 };
    vjp_context_options options = counted_options(&c);
    problem p = wide_fold();
    vjp_plan *plans[2] = { NULL, NULL };
    vjp_context *ctx = context_for_isa("scalar", &options);
    assert_status(VJP_OK, problem_create(&p, ctx, &plans[0], NULL), NULL);
    assert_status(VJP_OK, problem_create(&p, ctx, &plans[1], NULL), NULL);
    vjp_plan_destroy(plans[0]);
    vjp_context_destroy(ctx);
    assert_true(c.live > 0);
    vjp_plan_destroy(plans[1]);
    assert_int_equal(c.live, 0);
}

/* ---- the context of vjp_compute(NULL, ...) ------------------------------------------------ */

static vjp_status compute_without_context(char *reason)
{
    static const float inputs[2][8];
    static float output[8];
    const void *const data[] = { inputs[0], inputs[1] };
    void *const outputs[] = { output };
    vjp_tensor tensor;
    const vjp_tensor *tensors[] = { &tensor, &tensor, &tensor };
    assert_status(VJP_OK, vjp_tensor_contiguous(VJP_F32, 1, (int64_t[]){ 8 }, &tensor), NULL);
    return vjp_compute(NULL, SAMPLE_MAP, NULL, 0, tensors, 3, data, outputs, reason,
                       VJP_REASON_SIZE);
}

/* The first call creates it, or reports that there is no memory, and then the next call creates it.
 * Later calls allocate what they allocate with any context: a plan. */
static void the_default_context_is_made_once(void **state)
{
    (void)state;
    char reason[VJP_REASON_SIZE] = "";
    if (!ALLOCATIONS_COUNTED)
        skip();
    allocations_begin(1, FAULT_ONCE);
    vjp_status status = compute_without_context(reason);
    assert_int_equal(allocations_end().live, 0);
    assert_status(VJP_NO_MEMORY, status, reason);
    assert_string_equal(reason, "no memory for a context");
    allocations_begin(0, FAULT_ONCE);
    status = compute_without_context(reason);
    allocation_count first = allocations_end();
    assert_status(VJP_OK, status, reason);
    assert_int_equal(first.calls, 2);
    assert_int_equal(first.live, 1);
    for (int i = 0; i < 3; i++) {
        allocations_begin(0, FAULT_ONCE);
        status = compute_without_context(reason);
        allocation_count later = allocations_end();
        assert_status(VJP_OK, status, reason);
        assert_int_equal(later.calls, 1);
        assert_int_equal(later.live, 0);
    }
}

/* ---- failures ----------------------------------------------------------------------------- */

typedef struct life {
    const vjp_context_options *options;
    trial t;
    char reason[VJP_REASON_SIZE];
} life;

/* went_well - whether it did; if not it was for want of memory, and says so. */
static bool went_well(const life *l, vjp_status status, const void *made)
{
    if (status == VJP_OK)
        return true;
    assert_status(VJP_NO_MEMORY, status, l->reason);
    assert_true(strlen(l->reason) > 0);
    assert_null(made);
    return false;
}

/* computed - vjp_compute went well; if not, nothing was written. */
static bool computed(life *l, vjp_context *ctx)
{
    const problem *p = &l->t.p;
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    for (int32_t i = 0; i < p->ntensors; i++)
        tensors[i] = problem_has(p, i) ? &p->tensors[i] : NULL;
    trial_prepare(&l->t, 0x5a);
    vjp_status status = vjp_compute(ctx, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                                    trial_inputs(&l->t), trial_outputs(&l->t), l->reason,
                                    sizeof l->reason);
    if (went_well(l, status, NULL))
        return true;
    for (int32_t i = 0; i < p->ntensors; i++)
        if (p->home[i] == i)
            assert_memory_equal(l->t.memory[i].bytes, l->t.before[i], l->t.memory[i].size);
    return false;
}

/* A context and a plan, then vjp_compute with that context and, where the work is too small for
 * OpenMP to allocate anything, without one. The first failure ends it. */
static bool whole_life(void *arg)
{
    life *l = arg;
    vjp_context *ctx = (vjp_context *)l;
    vjp_plan *plan = NULL;
    bool small = tensor_count(&l->t.p.tensors[0]) <= CASE_SMALL;
    vjp_status status = vjp_context_create(l->options, &ctx, l->reason, sizeof l->reason);
    bool well = went_well(l, status, ctx);
    if (well) {
        plan = NOT_A_PLAN;
        status = problem_create(&l->t.p, ctx, &plan, l->reason);
        well = went_well(l, status, plan);
    }
    well = well && computed(l, ctx) && (!small || computed(l, NULL));
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
    return well;
}

/* Returns how many allocations there were to fail. */
static int64_t fail_each(const problem *p, const vjp_context_options *options)
{
    char text[PROBLEM_TEXT];
    life l = { options, { .number = 0 }, "" };
    trial_open(&l.t, p, 0);
    int64_t calls = allocations_fail_each(problem_describe(p, text), whole_life, &l);
    trial_close(&l.t);
    return calls;
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < 6 && unit_tries(vjp_op_at(op)); number++) {
            counter c = { 0, 0 };
            vjp_context_options options = counted_options(&c);
            problem p = case_draw(vjp_op_at(op)->name, VJP_F16, VJP_F16, number);
            fail_each(&p, NULL);
            fail_each(&p, &options);
            assert_int_equal(c.live, 0);
        }
}

/* Sums across many rows and along one, so that both kinds need a workspace; a map needs none. */
static void a_failed_workspace_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const int64_t shapes[][2] = { { 5000, unit_quick() ? 32 : 64 },
                                  { 1, unit_quick() ? 1 << 17 : 1 << 20 } };
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1; /* OpenMP ends the process where it cannot allocate */
    int64_t workspaces = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t s = 0;
             s < COUNT_OF(shapes) && kind_reduces(vjp_op_at(op)) && unit_tries(vjp_op_at(op));
             s++) {
            problem p = variant_problem(vjp_op_at(op), 0);
            problem_contiguous(&p, VJP_BF16, VJP_BF16, 2, shapes[s], 1, &shapes[s][1]);
            int64_t calls = fail_each(&p, &options); /* context, plan, compute's own plan */
            assert_true(calls >= 3 || !ALLOCATIONS_COUNTED);
            workspaces += calls > 3;
        }
    assert_true(workspaces >= 2 || !ALLOCATIONS_COUNTED);
}

/* ---- workspaces --------------------------------------------------------------------------- */

static void check_workspace_limit(const problem *p, vjp_context *ctx)
{
    vjp_plan *plan = NULL;
    char text[PROBLEM_TEXT];
    assert_status(VJP_OK, problem_create(p, ctx, &plan, NULL), NULL);
    size_t size = vjp_plan_workspace_size(plan);
    if (size > problem_workspace_limit(p))
        fail_msg("a workspace of %zu bytes for\n%s", size, problem_describe(p, text));
    vjp_plan_destroy(plan);
}

static void workspaces_are_small(void **state)
{
    (void)state;
    const int64_t shapes[][2] = { { 1, 1 << 24 }, { 1 << 24, 1 },  { 1 << 12, 1 << 12 },
                                  { 3, 1 << 22 }, { 1 << 22, 3 },  { 64, 40000 },
                                  { 40000, 64 },  { 1 << 30, 999 } };
    vjp_context *ctx = context_for_isa("scalar", NULL);
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        const char *name = vjp_op_at(op)->name;
        if (!unit_tries(vjp_op_at(op)))
            continue;
        for (uint64_t number = 0; number < 200; number++) {
            problem p = case_draw(name, VJP_BF16, VJP_F32, number);
            check_workspace_limit(&p, ctx);
        }
        for (int64_t s = 0; s < COUNT_OF(shapes); s++)
            for (int rule = 0; rule < 3; rule++) {
                problem p = variant_problem(vjp_op_at(op), 0);
                problem_contiguous(&p, VJP_BF16, VJP_BF16, 2, shapes[s], rule,
                                   rule == 1 ? &shapes[s][1] : shapes[s]);
                check_workspace_limit(&p, ctx);
            }
    }
    vjp_context_destroy(ctx);
}

static void a_workspace_may_have_any_alignment(void **state)
{
    (void)state;
    problem p = wide_fold();
    vjp_context *ctx = context_for_isa("scalar", NULL);
    vjp_plan *plan = NULL;
    trial t;
    trial_open(&t, &p, 0);
    trial_run(&t, ctx, 0xa5);
    trial_result wanted = trial_bits(&t);
    assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
    size_t size = vjp_plan_workspace_size(plan);
    for (size_t shift = 0; shift < 17; shift++) {
        arena memory = arena_open(size + shift, ARENA_AT_START);
        trial_prepare(&t, 0x5a);
        vjp_status status = vjp_plan_run(plan, trial_inputs(&t), trial_outputs(&t),
                                         memory.bytes + shift, size, NULL);
        assert_status(VJP_OK, status, NULL);
        assert_true(arena_slack_intact(&memory));
        trial_check_same(&t, wanted, "an odd workspace");
        arena_close(&memory);
    }
    free(wanted.bits);
    trial_close(&t);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_context_is_made_once), /* first: no call has made it yet */
        cmocka_unit_test(a_plan_is_one_allocation_and_a_run_none),
        cmocka_unit_test(a_run_does_not_call_malloc),
        cmocka_unit_test(runs_of_more_and_fewer_tasks_do_not_call_malloc),
        cmocka_unit_test(the_hook_takes_the_place_of_malloc),
        cmocka_unit_test(memory_goes_with_the_last_of_context_and_plans),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_failed_workspace_is_reported_and_leaks_nothing),
        cmocka_unit_test(workspaces_are_small),
        cmocka_unit_test(a_workspace_may_have_any_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
