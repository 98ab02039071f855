/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - the library among threads and processes: one plan on many threads at once, a
 * thread with a small stack, a child forked after a parallel run.
 */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "contexts.h"
#include "named.h"
#include "trial.h"
#include "unit.h"

/* Every operator, dense and not, large enough for several tasks. */
/* clang-format off */
static const named_problem work[] = {
    { "relu",
      "relu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, USE_DST(0), 1, { 400003 }, NO_SLOPE },
    { "sigmoid",
      "sigmoid_backward", VJP_BF16, VJP_BF16, NAMED_SWAPPED, USE_DST(0),
      2, { 403, 511 }, NO_SLOPE },
    { "hard sigmoid",
      "hard_sigmoid_backward", VJP_F16, VJP_F16, NAMED_CHANNELS_LAST, LINE(0.2f, 0.5f),
      4, { 3, 65, 31, 33 }, NO_SLOPE },
    { "softmax",
      "softmax_backward", VJP_F32, VJP_F32, NAMED_PLAIN, AXIS(1), 2, { 9, 30011 }, NO_SLOPE },
    { "softmax, first axis",
      "softmax_backward", VJP_BF16, VJP_F32, NAMED_SWAPPED, AXIS(0), 2, { 301, 703 }, NO_SLOPE },
    { "prelu",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, FORMAT("NXC"), 2, { 3001, 65 }, 1, { 65 } },
    { "prelu, channels last",
      "prelu_backward", VJP_F64, VJP_F64, NAMED_CHANNELS_LAST, FORMAT("NCX"),
      4, { 3, 65, 31, 33 }, 1, { 65 } },
};
/* clang-format on */

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
    problem p = named_problem_build(*state);
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
    problem p = named_problem_build(*state);
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 4;
    options.parallel_for = two_threads_a_call;
    check_on_threads(&p, &options);
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
        e->status = vjp_plan_run(plan, e->t->data, e->workspace, e->workspace_size, NULL);
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

static void a_stack_of_64_kib_is_enough(void **state)
{
    (void)state;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
#if !defined(__OPTIMIZE__) /* such code wants several times the room */
    skip();
#endif
    if (UNIT_SANITIZED)
        skip();
    for (int isa = 0; isa < ISAS; isa++) {
        vjp_context *ctx = context_for_isa(all_isas[isa], &options);
        if (ctx == NULL)
            continue;
        for (int64_t i = 0; i < COUNT_OF(work); i++) {
            problem p = named_problem_build(&work[i]);
            run_on_a_small_stack(&p, 0, ctx);
        }
        for (int32_t op = 0; op < vjp_op_count(); op++)
            for (uint64_t number = 0; number < 40; number++) {
                problem p = case_draw(vjp_op_at(op)->name, VJP_BF16, VJP_BF16, number);
                run_on_a_small_stack(&p, number, ctx);
            }
        vjp_context_destroy(ctx);
    }
}

/* ---- fork --------------------------------------------------------------------------------- */

/* wait_for - the child's exit status, -1 if it crashed or did not end in time. */
static int wait_for(pid_t child)
{
    int status = 0;
    for (int tenths = 0; tenths < 300; tenths++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        usleep(100000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

/* In the child no assertion may fail, or it would go on as a second test program. */
static int run_in_child(trial *t, const vjp_plan *plan, trial_result wanted)
{
    trial_prepare(t, 0x5a);
    if (trial_run_plan(t, plan) != VJP_OK)
        return 1;
    trial_result got = trial_bits(t);
    for (int64_t i = 0; i < got.count; i++)
        if (got.bits[i] != wanted.bits[i])
            return 2;
    vjp_context *ctx = NULL;
    if (vjp_context_create(NULL, &ctx, NULL, 0) != VJP_OK)
        return 3;
    vjp_context_destroy(ctx);
    return 0;
}

static void a_forked_child_goes_on(void **state)
{
    problem p = named_problem_build(*state);
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    trial t;
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
    trial_open(&t, &p, 8);
    trial_run(&t, ctx, 0xa5);
    trial_result wanted = trial_bits(&t);
    assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(run_in_child(&t, plan, wanted));
    assert_true(child > 0);
    assert_int_equal(wait_for(child), 0);
    trial_run(&t, ctx, 0x5a);
    trial_check_same(&t, wanted, "the parent after a fork");
    free(wanted.bits);
    vjp_plan_destroy(plan);
    trial_close(&t);
    vjp_context_destroy(ctx);
}

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(work) * 3 + 1];
    size_t n = 0;
    for (int64_t i = 0; i < COUNT_OF(work); i++) {
        const named_problem *w = &work[i];
        tests[n++] =
            unit_named(w->name, "one plan on many threads", one_plan_runs_on_many_threads, w);
        tests[n++] = unit_named(w->name, "one plan on many threads, each with helpers",
                                one_plan_runs_on_many_threads_each_with_helpers, w);
        tests[n++] = unit_named(w->name, "a forked child goes on", a_forked_child_goes_on, w);
    }
    tests[n++] = unit_named("every operator", "a stack of 64 KiB is enough",
                            a_stack_of_64_kib_is_enough, NULL);
    return _cmocka_run_group_tests("process", tests, n, NULL, NULL);
}
