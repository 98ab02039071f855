/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - a child forked after a parallel run, and signals during one.
 */
#define _DEFAULT_SOURCE

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "contexts.h"
#include "trial.h"
#include "unit.h"

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
    const problem p = ((const shaped_problem *)*state)->p;
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

/* ---- signals ------------------------------------------------------------------------------ */

/* Written by the handler alone. */
static volatile sig_atomic_t signals_caught, signals_wrong;

/* A handler that computes: it overwrites registers, and relies on a rounding mode and subnormals
 * of its own. */
static void compute_in_handler(int number)
{
    volatile float third = 1, three = 3, tiny = 0x1p-130f, half = 0.5f;
    volatile double sum = 0;
    (void)number;
    third /= three;
    for (int i = 1; i <= 64; i++)
        sum += 1.0 / i;
    signals_wrong += third != 0x1.555556p-2f || tiny * half != 0x1p-131f;
    signals_wrong += !(sum > 4.74 && sum < 4.75);
    signals_caught++;
}

static void set_timer(int microseconds)
{
    const struct timeval every = { 0, microseconds };
    const struct itimerval timer = { every, every };
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Run until that many signals have arrived. */
static void run_among_signals(trial *t, vjp_context *ctx, trial_result wanted, int wanted_signals)
{
    enum {
        RUNS = 16
    };
    vjp_plan *plan = NULL;
    vjp_status status = VJP_OK;
    int came = 0;
    assert_status(VJP_OK, problem_create(&t->p, ctx, &plan, NULL), NULL);
    while (came < wanted_signals) {
        trial_prepare(t, 0x5a);
        int before = signals_caught;
        for (int i = 0; i < RUNS && status == VJP_OK; i++)
            status = trial_run_plan(t, plan);
        came += signals_caught - before;
        assert_status(VJP_OK, status, NULL);
        trial_settle(t);
        trial_check_same(t, wanted, "a run among signals");
    }
    vjp_plan_destroy(plan);
}

/* On every instruction set, on the calling thread alone and with OpenMP's. */
static void the_same_bits_among_signals(void **state)
{
    const problem p = ((const shaped_problem *)*state)->p;
    struct sigaction action = { .sa_handler = compute_in_handler }, before;
    trial t;
    if (UNIT_SANITIZED) /* holds signals back */
        skip();
    trial_open(&t, &p, 8);
    vjp_context *scalar = context_for_isa("scalar", NULL);
    trial_run(&t, scalar, 0xa5);
    trial_result wanted = trial_bits(&t);
    vjp_context_destroy(scalar);
    signals_wrong = 0;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    set_timer(1000);
    for (int variant = 0; variant < 2 * ISAS; variant++) {
        vjp_context_options options = VJP_CONTEXT_DEFAULTS;
        options.num_threads = variant % 2;
        vjp_context *ctx = context_for_isa(all_isas[variant / 2], &options);
        if (ctx != NULL)
            run_among_signals(&t, ctx, wanted, unit_quick() ? 2 : 8);
        vjp_context_destroy(ctx);
    }
    set_timer(0);
    assert_int_equal(signals_wrong, 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    free(wanted.bits);
    trial_close(&t);
}

int main(void)
{
    shaped_list busy = busy_problems();
    struct CMUnitTest *tests = unit_malloc((size_t)(busy.count * 2) * sizeof *tests);
    size_t n = 0;
    for (int64_t i = 0; i < busy.count; i++) {
        const shaped_problem *p = &busy.at[i];
        tests[n++] = unit_named(p->name, "a forked child goes on", a_forked_child_goes_on, p);
        tests[n++] =
            unit_named(p->name, "signals every millisecond", the_same_bits_among_signals, p);
    }
    int failed = _cmocka_run_group_tests("process", tests, n, NULL, NULL);
    free(tests);
    shaped_free(&busy);
    return failed;
}
