/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - one plan on many threads at once, a thousand threads that create plans, and a
 * thread with a small stack.
 */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "busy.h"
#include "cases.h"
#include "contexts.h"
#include "trial.h"
#include "unit.h"

/* ---- many threads ------------------------------------------------------------------------- */

enum {
    MOST_THREADS = 8,
    RUNS = 3
};

typedef struct worker {
    pthread_t thread;
    const vjp_plan *plan;
    trial t;
    vjp_status status;
} worker;

static void *run_a_few_times(void *argument)
{
    worker *w = argument;
    for (int i = 0; i < (unit_quick() ? 1 : RUNS) && w->status == VJP_OK; i++) {
        trial_prepare(&w->t, 0x5a);
        w->status = trial_run_plan(&w->t, w->plan);
    }
    return NULL;
}

/* All threads have the same values, each its own memory and workspace. */
static void run_on_threads(const problem *p, const vjp_plan *plan, trial_result wanted)
{
    static worker workers[MOST_THREADS];
    int threads = unit_quick() ? MOST_THREADS / 2 : MOST_THREADS;
    for (int i = 0; i < threads; i++) {
        workers[i].plan = plan;
        workers[i].status = VJP_OK;
        trial_open(&workers[i].t, p, 6);
    }
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_a_few_times, &workers[i]), 0);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < threads; i++) {
        assert_status(VJP_OK, workers[i].status, NULL);
        trial_settle(&workers[i].t);
        trial_check_same(&workers[i].t, wanted, "one of many threads");
        trial_close(&workers[i].t);
    }
}

static void check_on_threads(const problem *p, const vjp_context_options *options)
{
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    trial alone;
    assert_status(VJP_OK, vjp_context_create(options, &ctx, NULL, 0), NULL);
    assert_status(VJP_OK, problem_create(p, ctx, &plan, NULL), NULL);
    trial_open(&alone, p, 6);
    trial_run(&alone, ctx, 0xa5);
    trial_result wanted = trial_bits(&alone);
    run_on_threads(p, plan, wanted);
    free(wanted.bits);
    trial_close(&alone);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
}

static void one_plan_runs_on_many_threads(void **state)
{
    const problem p = ((const shaped_problem *)*state)->p;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    check_on_threads(&p, &options);
}

/* A parallel-for without state of its own, so that all threads may share it. */
static void two_threads_a_call(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    (void)user;
    pthread_team team = { 2, TASKS_FORWARD, fpmode_at(0), 0 };
    pthread_team_run(&team, ntasks, task, arg);
}

static void one_plan_runs_on_many_threads_each_with_helpers(void **state)
{
    const problem p = ((const shaped_problem *)*state)->p;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 4;
    options.parallel_for = two_threads_a_call;
    check_on_threads(&p, &options);
}

/* ---- a thousand threads ------------------------------------------------------------------- */

enum {
    CROWD = 1000,
    PLANS = 4
};

static atomic_llong live;

static void *live_allocate(void *user, size_t size)
{
    void *memory = malloc(size);
    (void)user;
    live += memory != NULL;
    return memory;
}

static void live_deallocate(void *user, void *memory)
{
    (void)user;
    live -= memory != NULL;
    free(memory);
}

typedef struct passer_by {
    pthread_t thread;
    uint64_t number;
    vjp_context *shared;
    vjp_status status;
} passer_by;

/* Plans of a context that all share and of one of its own, which goes before its plans do. */
static void *make_and_destroy_plans(void *argument)
{
    passer_by *one = argument;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *own = NULL;
    vjp_plan *plans[PLANS] = { NULL };
    options.allocate = live_allocate;
    options.deallocate = live_deallocate;
    one->status = vjp_context_create(&options, &own, NULL, 0);
    for (int i = 0; i < PLANS && one->status == VJP_OK; i++) {
        int32_t op = (int32_t)(one->number + (uint64_t)i) % vjp_op_count();
        problem p = case_draw(vjp_op_at(op)->name, VJP_F32, VJP_F32, one->number);
        one->status = problem_create(&p, i % 2 == 0 ? own : one->shared, &plans[i], NULL);
    }
    vjp_context_destroy(own);
    for (int i = 0; i < PLANS; i++)
        vjp_plan_destroy(plans[i]);
    return NULL;
}

static void a_thousand_threads_make_and_destroy_plans(void **state)
{
    (void)state;
    static passer_by crowd[CROWD];
    int size = unit_quick() ? CROWD / 10 : CROWD;
    pthread_attr_t attr;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.allocate = live_allocate;
    options.deallocate = live_deallocate;
    vjp_context *shared = context_for_isa("scalar", &options);
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    for (int i = 0; i < size; i++) {
        crowd[i] = (passer_by){ .number = (uint64_t)i, .shared = shared };
        assert_int_equal(
            pthread_create(&crowd[i].thread, &attr, make_and_destroy_plans, &crowd[i]), 0);
    }
    for (int i = 0; i < size; i++) {
        pthread_join(crowd[i].thread, NULL);
        assert_status(VJP_OK, crowd[i].status, NULL);
    }
    pthread_attr_destroy(&attr);
    vjp_context_destroy(shared);
    assert_int_equal(live, 0);
}

/* ---- a small stack ------------------------------------------------------------------------ */

/* 64 KiB, or the least that the system allows. */
static size_t small_stack(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 64 << 10 ? (size_t)least : 64 << 10;
}

typedef struct errand {
    vjp_context *ctx;
    trial *t;
    void *workspace;
    size_t workspace_size;
    vjp_status status;
} errand;

static void *create_and_run(void *argument)
{
    errand *e = argument;
    vjp_plan *plan = NULL;
    e->status = problem_create(&e->t->p, e->ctx, &plan, NULL);
    if (e->status == VJP_OK)
        e->status = vjp_plan_run(plan, trial_inputs(e->t), trial_outputs(e->t), e->workspace,
                                 e->workspace_size, NULL);
    vjp_plan_destroy(plan);
    return NULL;
}

static void run_on_a_small_stack(const problem *p, uint64_t number, vjp_context *ctx)
{
    enum {
        ENOUGH = 8 << 20
    };
    pthread_attr_t attr;
    pthread_t thread;
    trial t;
    trial_open(&t, p, number);
    trial_prepare(&t, 0xa5);
    errand e = { ctx, &t, unit_malloc(ENOUGH), ENOUGH, VJP_OK };
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, small_stack()), 0);
    assert_int_equal(pthread_create(&thread, &attr, create_and_run, &e), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_status(VJP_OK, e.status, NULL);
    trial_settle(&t);
    trial_check(&t);
    free(e.workspace);
    trial_close(&t);
}

static void run_cases_on_a_small_stack(const char *op, vjp_context *ctx)
{
    case_dtypes pairs[CASE_DTYPES];
    uint64_t npairs = (uint64_t)case_dtypes_of(op, pairs), count = (uint64_t)vjp_op_count();
    uint64_t cases = count < 80 ? 320 / count : 4; /* of each pair of dtypes */
    for (uint64_t number = 0; number < cases * npairs; number++) {
        case_dtypes pair = pairs[number % npairs];
        problem p = case_draw(op, pair.dtype, pair.wide, number);
        run_on_a_small_stack(&p, number, ctx);
    }
}

static void a_stack_of_64_kib_is_enough(void **state)
{
    (void)state;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
#if !defined(__OPTIMIZE__) /* such code needs several times the stack */
    skip();
#endif
    if (UNIT_SANITIZED)
        skip();
    shaped_list busy = busy_problems();
    for (int isa = 0; isa < ISAS; isa++) {
        vjp_context *ctx = context_for_isa(all_isas[isa], &options);
        if (ctx == NULL)
            continue;
        for (int64_t i = 0; i < busy.count; i++)
            run_on_a_small_stack(&busy.at[i].p, 0, ctx);
        for (int32_t op = 0; op < vjp_op_count(); op++)
            if (unit_tries(vjp_op_at(op)))
                run_cases_on_a_small_stack(vjp_op_at(op)->name, ctx);
        vjp_context_destroy(ctx);
    }
    shaped_free(&busy);
}

int main(void)
{
    shaped_list busy = busy_problems();
    struct CMUnitTest *tests = unit_malloc((size_t)(busy.count * 2 + 2) * sizeof *tests);
    size_t n = 0;
    for (int64_t i = 0; i < busy.count; i++) {
        const shaped_problem *p = &busy.at[i];
        tests[n++] =
            unit_named(p->name, "one plan on many threads", one_plan_runs_on_many_threads, p);
        tests[n++] = unit_named(p->name, "one plan on many threads, each with helpers",
                                one_plan_runs_on_many_threads_each_with_helpers, p);
    }
    tests[n++] = unit_named("a thousand threads", "making plans and destroying them",
                            a_thousand_threads_make_and_destroy_plans, NULL);
    tests[n++] = unit_named("every operator", "a stack of 64 KiB is enough",
                            a_stack_of_64_kib_is_enough, NULL);
    int failed = _cmocka_run_group_tests("threads", tests, n, NULL, NULL);
    free(tests);
    shaped_free(&busy);
    return failed;
}
