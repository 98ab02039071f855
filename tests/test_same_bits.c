/* SPDX-License-Identifier: Apache-2.0 */
/* test_same_bits.c - one problem, one result: for every instruction set, any number of threads,
 * tasks in any order, and any floating-point mode of the caller.
 *
 * The reference is the scalar code on one thread in the default mode.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "contexts.h"
#include "kinds.h"
#include "parallel_fors.h"
#include "samples.h"
#include "shaped.h"
#include "trial.h"
#include "unit.h"

enum {
    POISON = 0xa5,
    OTHER_POISON = 0x5a
};

/* clang-format off */
static const shaped_row rows[] = {
    { "f32", SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 300007 }, NO_SLOPE },
    { "bf16, swapped", SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_SWAPPED, 0, 2, { 401, 703 }, NO_SLOPE },
    { "f64", SHAPED_MAP, VJP_F64, VJP_F64, NAMED_PLAIN, 0, 2, { 331, 503 }, NO_SLOPE },
    { "f16", SHAPED_MAP, VJP_F16, VJP_F16, NAMED_PLAIN, 0, 1, { 260003 }, NO_SLOPE },
    { "bf16", SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_PLAIN, 0, 1, { 260003 }, NO_SLOPE },
    { "f64, swapped", SHAPED_MAP, VJP_F64, VJP_F64, NAMED_SWAPPED, 0, 2, { 301, 1003 }, NO_SLOPE },
    { "f32 in place", SHAPED_MAP, VJP_F32, VJP_F32, NAMED_IN_PLACE, 0, 1, { 260003 }, NO_SLOPE },

    { "long rows", SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 5, 60013 }, NO_SLOPE },
    { "many rows", SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 8001, 33 }, NO_SLOPE },
    { "two rows", SHAPED_ROW, VJP_F64, VJP_F64, NAMED_PLAIN, 1, 2, { 2, 150001 }, NO_SLOPE },
    { "first axis", SHAPED_ROW, VJP_BF16, VJP_F32, NAMED_PLAIN, 0, 2, { 301, 1003 }, NO_SLOPE },
    { "f16, swapped", SHAPED_ROW, VJP_F16, VJP_F16, NAMED_SWAPPED, 1, 3, { 50, 301, 17 }, NO_SLOPE },
    { "first axis of f32", SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 2, { 301, 1003 }, NO_SLOPE },
    { "rows of bf16", SHAPED_ROW, VJP_BF16, VJP_BF16, NAMED_PLAIN, 1, 2, { 259, 1031 }, NO_SLOPE },
    { "rows of f16", SHAPED_ROW, VJP_F16, VJP_F32, NAMED_PLAIN, 1, 2, { 1031, 259 }, NO_SLOPE },

    { "channels first", SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1,
      4, { 4, 33, 50, 51 }, 1, { 33 } },
    { "channels last", SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 5003, 65 }, 1, { 65 } },
    { "one parameter", SHAPED_FOLD, VJP_F64, VJP_F64, NAMED_PLAIN, 0, 1, { 300007 }, 1, { 1 } },
    { "TensorFlow's parameters", SHAPED_FOLD, VJP_F16, VJP_F32, NAMED_PLAIN, 2,
      3, { 25, 101, 103 }, 2, { 101, 103 } },
    { "bf16, swapped", SHAPED_FOLD, VJP_BF16, VJP_BF16, NAMED_SWAPPED, 1,
      2, { 1031, 257 }, 1, { 257 } },
};
/* clang-format on */

/* Some gradients of f32 are so small that flushing them would show. */
static void open_subject(const shaped_problem *s, trial *t)
{
    const problem *p = &s->p;
    int32_t gradient = kind_gradient(p->op);
    trial_open(t, p, 4);
    if (gradient < 0 || p->tensors[gradient].dtype != VJP_F32)
        return;
    int64_t n = tensor_count(&p->tensors[gradient]);
    double *tiny = unit_malloc((size_t)n * sizeof *tiny);
    for (int64_t i = 0; i < n; i++)
        tiny[i] = t->inputs[gradient][i] * (i % 16 < 8 ? 0x1p-133 : 1);
    trial_set(t, gradient, tiny, n);
    free(tiny);
}

static trial_result reference(trial *t)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    vjp_context *ctx = context_for_isa("scalar", &options);
    trial_run(t, ctx, POISON);
    vjp_context_destroy(ctx);
    return trial_bits(t);
}

/* In a hurry only a part of the variants is tried. */
static int is_tried(int64_t variant)
{
    return !unit_quick() || variant % 4 == 1;
}

/* ---- threads ------------------------------------------------------------------------------ */

static const int32_t thread_counts[] = { 1, 2, 3, 7, 16 };
static const char *const order_names[] = { "forward", "backward", "shuffled" };

/* Run with these options on all instruction sets and compare. */
static void check_options(trial *t, trial_result wanted, const vjp_context_options *options,
                          const char *how)
{
    for (int isa = 0; isa < ISAS; isa++) {
        char who[128];
        vjp_context *ctx = context_for_isa(all_isas[isa], options);
        if (ctx == NULL)
            continue;
        snprintf(who, sizeof who, "%s, %d threads, %s", all_isas[isa], (int)options->num_threads,
                 how);
        trial_run(t, ctx, OTHER_POISON);
        vjp_context_destroy(ctx);
        trial_check_same(t, wanted, who);
    }
}

static void same_bits_for_any_threads(void **state)
{
    trial t;
    open_subject(*state, &t);
    trial_result wanted = reference(&t);
    for (int64_t n = 0; n < COUNT_OF(thread_counts); n++) {
        vjp_context_options options = VJP_CONTEXT_DEFAULTS;
        if (!is_tried(n))
            continue;
        options.num_threads = thread_counts[n];
        check_options(&t, wanted, &options, "OpenMP");
    }
    free(wanted.bits);
    trial_close(&t);
}

static void same_bits_for_any_order_of_tasks(void **state)
{
    trial t;
    open_subject(*state, &t);
    trial_result wanted = reference(&t);
    for (int64_t n = 1; n < COUNT_OF(thread_counts); n++)
        for (int order = TASKS_FORWARD; order <= TASKS_SHUFFLED; order++) {
            vjp_context_options options = VJP_CONTEXT_DEFAULTS;
            pthread_team team = { 3, (task_order)order, fpmode_at(0), 0 };
            if (!is_tried(n * 3 + order))
                continue;
            options.num_threads = thread_counts[n];
            options.parallel_for = pthread_team_run;
            options.parallel_for_user = &team;
            check_options(&t, wanted, &options, order_names[order]);
            assert_true(team.tasks_run > 1); /* else the order means nothing */
        }
    free(wanted.bits);
    trial_close(&t);
}

static void same_bits_for_any_parallel_for(void **state)
{
    trial t;
    open_subject(*state, &t);
    trial_result wanted = reference(&t);
    for (int i = 0; i < PARALLEL_FORS; i++) {
        vjp_context_options options = VJP_CONTEXT_DEFAULTS;
        atomic_llong tasks_run = 0;
        options.num_threads = 7;
        options.parallel_for = parallel_fors[i].run;
        options.parallel_for_user = &tasks_run;
        check_options(&t, wanted, &options, parallel_fors[i].name);
        assert_true(tasks_run > 1);
    }
    free(wanted.bits);
    trial_close(&t);
}

/* ---- modes -------------------------------------------------------------------------------- */

/* Create and run in the mode, and come back to the default one before anything may fail. */
static void run_in_mode(trial *t, vjp_context *ctx, fpmode mode)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    trial_prepare(t, OTHER_POISON);
    fpmode_set(mode);
    vjp_status created = problem_create(&t->p, ctx, &plan, reason);
    vjp_status run = created == VJP_OK ? trial_run_plan(t, plan) : created;
    int kept = fpmode_is_set(mode);
    fpmode_set(fpmode_at(0));
    vjp_plan_destroy(plan);
    assert_status(VJP_OK, run, reason);
    if (!kept)
        fail_msg("the caller was %s; after the run it was not", mode.name);
    trial_settle(t);
}

static void check_mode(trial *t, trial_result wanted, const vjp_context_options *options,
                       fpmode mode)
{
    for (int isa = 0; isa < ISAS; isa++) {
        char who[128];
        vjp_context *ctx = context_for_isa(all_isas[isa], options);
        if (ctx == NULL)
            continue;
        snprintf(who, sizeof who, "%s, the caller %s, %s", all_isas[isa], mode.name,
                 options->parallel_for != NULL ? "own threads" : "OpenMP");
        run_in_mode(t, ctx, mode);
        vjp_context_destroy(ctx);
        trial_check_same(t, wanted, who);
    }
}

static void same_bits_in_any_floating_point_mode(void **state)
{
    trial t;
    open_subject(*state, &t);
    trial_result wanted = reference(&t);
    for (int mode = 0; mode < FPMODES; mode++) {
        pthread_team team = { 2, TASKS_FORWARD, fpmode_at(mode), 0 };
        vjp_context_options options = VJP_CONTEXT_DEFAULTS;
        if (!is_tried(mode))
            continue;
        check_mode(&t, wanted, &options, fpmode_at(mode));
        options.num_threads = 1;
        check_mode(&t, wanted, &options, fpmode_at(mode));
        options.num_threads = 4;
        options.parallel_for = pthread_team_run;
        options.parallel_for_user = &team;
        check_mode(&t, wanted, &options, fpmode_at(mode));
    }
    free(wanted.bits);
    trial_close(&t);
}

/* A number that is rounded to f32 when the plan is created. */
static void same_constants_in_any_floating_point_mode(void **state)
{
    (void)state;
    problem p = problem_start(SAMPLE_NUMBERS);
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    trial t;
    problem_add_attr(&p, vjp_attr_f64("alpha", 0.1));
    problem_add_attr(&p, vjp_attr_f64("beta", 0.5));
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 99 }, 0, NULL);
    trial_open(&t, &p, 4);
    trial_result wanted = reference(&t);
    for (int mode = 0; mode < FPMODES; mode++)
        check_mode(&t, wanted, &options, fpmode_at(mode));
    free(wanted.bits);
    trial_close(&t);
}

/* ---- parallel-fors ------------------------------------------------------------------------ */

static int64_t tasks_of(int64_t elements, int32_t num_threads)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    pthread_team team = { 2, TASKS_FORWARD, fpmode_at(0), 0 };
    problem p = problem_start(SAMPLE_MAP);
    trial t;
    options.num_threads = num_threads;
    options.parallel_for = pthread_team_run;
    options.parallel_for_user = &team;
    vjp_context *ctx = context_for_isa("scalar", &options);
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, &elements, 0, NULL);
    trial_open(&t, &p, 0);
    trial_run(&t, ctx, POISON);
    trial_close(&t);
    vjp_context_destroy(ctx);
    return team.tasks_run;
}

static void large_work_goes_to_the_callers_threads(void **state)
{
    (void)state;
    assert_true(tasks_of(4 << 20, 4) > 1);
    assert_true(tasks_of(4 << 20, 0) > 1);
}

/* The threshold is the header's. */
static void small_work_and_one_thread_stay_with_the_caller(void **state)
{
    (void)state;
    assert_int_equal(tasks_of(100, 4), 0);
    assert_int_equal(tasks_of((512 << 10) / 12, 4), 0); /* 12 bytes each */
    assert_int_equal(tasks_of((512 << 10) / 12 + 1, 4), 2);
    assert_int_equal(tasks_of(4 << 20, 1), 0);
}

/* In a hurry each subject has one of these. */
static const struct {
    const char *name;
    CMUnitTestFunction test;
} kinds[] = {
    { "any number of threads", same_bits_for_any_threads },
    { "tasks in any order", same_bits_for_any_order_of_tasks },
    { "any parallel-for", same_bits_for_any_parallel_for },
    { "any mode", same_bits_in_any_floating_point_mode },
};

int main(void)
{
    shaped_list subjects = shaped_problems(rows, COUNT_OF(rows));
    struct CMUnitTest *tests =
        unit_malloc(((size_t)subjects.count * COUNT_OF(kinds) + 3) * sizeof *tests);
    size_t n = 0;
    for (int64_t i = 0; i < subjects.count; i++)
        for (int64_t k = 0; k < COUNT_OF(kinds); k++)
            if (!unit_quick() || i % COUNT_OF(kinds) == k)
                tests[n++] =
                    unit_named(subjects.at[i].name, kinds[k].name, kinds[k].test, &subjects.at[i]);
    tests[n++] = unit_named("constants", "any mode", same_constants_in_any_floating_point_mode,
                            NULL);
    tests[n++] = unit_named("large work", "on the caller's threads",
                            large_work_goes_to_the_callers_threads, NULL);
    tests[n++] = unit_named("small work", "on the caller itself",
                            small_work_and_one_thread_stay_with_the_caller, NULL);
    int failed = _cmocka_run_group_tests("same bits", tests, n, NULL, NULL);
    free(tests);
    shaped_free(&subjects);
    return failed;
}
