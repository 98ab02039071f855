/* SPDX-License-Identifier: Apache-2.0 */
/* test_team.c - how many threads a context uses, and that a run starts no more.
 *
 * What is expected follows from OpenMP's own settings, so that the same tests run under several:
 * OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_PROC_BIND and OMP_STACKSIZE (cmake/tests.cmake).
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <sched.h>

#include "samples.h"
#include "trial.h"
#include "unit.h"

#if defined(_OPENMP) /* as the library is built */
#include <omp.h>
#else
static int omp_get_max_threads(void)
{
    return 1;
}

static int omp_get_num_procs(void)
{
    return 1;
}

static int omp_get_thread_limit(void)
{
    return 1;
}
#endif

enum {
    MOST = 256,
    ELEMENTS = 200000, /* enough for more than one thread */
    STRANGERS = 4      /* threads of an emulator or a sanitizer */
};

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static vjp_context *context_of(int32_t num_threads, vjp_parallel_for parallel_for)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx = NULL;
    options.num_threads = num_threads;
    options.parallel_for = parallel_for;
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, reason, sizeof reason), reason);
    return ctx;
}

static int32_t threads_of(int32_t num_threads, vjp_parallel_for parallel_for)
{
    vjp_context *ctx = context_of(num_threads, parallel_for);
    int32_t threads = vjp_context_threads(ctx);
    vjp_context_destroy(ctx);
    return threads;
}

static int32_t living_threads(void)
{
    int32_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A team of this size runs, and OpenMP keeps its threads for the next run. Those of a larger team
 * before it may live on. */
static void check_run(int32_t num_threads)
{
    problem p = problem_start(SAMPLE_MAP);
    vjp_context *ctx = context_of(num_threads, NULL);
    int32_t team = vjp_context_threads(ctx);
    trial t;
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ ELEMENTS }, 0, NULL);
    trial_open(&t, &p, 0);
    int32_t before = living_threads();
    trial_run(&t, ctx, 0xa5);
    trial_check(&t);
    assert_in_range(living_threads(), team, larger(before, team + STRANGERS));
    trial_close(&t);
    vjp_context_destroy(ctx);
}

static void zero_is_what_openmp_offers_within_the_cpus(void **state)
{
    (void)state;
    int32_t offered = smaller(omp_get_max_threads(), omp_get_num_procs());
    assert_int_equal(threads_of(0, NULL), smaller(offered, smaller(omp_get_thread_limit(), MOST)));
    check_run(0);
}

static void a_number_is_kept_up_to_the_limit(void **state)
{
    (void)state;
    const int32_t numbers[] = { 16, 1, 2, 3, 7, 16, MOST, MOST + 1, 20000, INT32_MAX };
    for (int64_t i = 0; i < COUNT_OF(numbers); i++) {
        assert_int_equal(threads_of(numbers[i], NULL),
                         smaller(numbers[i], smaller(omp_get_thread_limit(), MOST)));
        check_run(numbers[i]);
    }
}

static void never_called(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    (void)user, (void)ntasks, (void)task, (void)arg;
    fail();
}

static void a_parallel_for_has_threads_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(threads_of(0, never_called), 0);
    assert_int_equal(threads_of(16, never_called), 0);
    assert_int_equal(threads_of(1, never_called), 1);
    assert_int_equal(vjp_context_threads(NULL), 0);
}

/* The caller may be bound to one CPU after OpenMP has counted them. */
static void one_cpu_is_one_thread(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int32_t cpus = omp_get_num_procs(), threads = threads_of(0, NULL), three = threads_of(3, NULL);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    if (cpus > 1) /* a runtime that counts once, or has places of its own */
        skip();
    assert_int_equal(threads, 1);
    assert_int_equal(three, smaller(3, omp_get_thread_limit()));
}

#if defined(_OPENMP)
static void the_program_may_ask_openmp_for_fewer(void **state)
{
    (void)state;
    int offered = omp_get_max_threads();
    vjp_context *ctx = context_of(0, NULL);
    omp_set_num_threads(1);
    assert_int_equal(vjp_context_threads(ctx), 1);
    omp_set_num_threads(offered);
    vjp_context_destroy(ctx);
}

static void inside_a_parallel_region_there_is_one(void **state)
{
    (void)state;
    vjp_context *ctx = context_of(7, NULL);
    int32_t inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    inside = vjp_context_threads(ctx);
    if (omp_get_thread_limit() > 1)
        assert_int_equal(inside, 1);
    vjp_context_destroy(ctx);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_what_openmp_offers_within_the_cpus),
        cmocka_unit_test(a_number_is_kept_up_to_the_limit),
        cmocka_unit_test(a_parallel_for_has_threads_of_its_own),
        cmocka_unit_test(one_cpu_is_one_thread),
#if defined(_OPENMP)
        cmocka_unit_test(the_program_may_ask_openmp_for_fewer),
        cmocka_unit_test(inside_a_parallel_region_there_is_one),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
