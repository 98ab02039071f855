/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - run tasks with the caller's parallel-for, with OpenMP or on the calling thread.
 *
 * What a task computes does not depend on which thread runs it or on the number of threads. */
#include <unistd.h>

#include "cpu/stage.h"

#if defined(VJPI_OPENMP)
#include <omp.h>

/* A forked child inherits OpenMP's bookkeeping without its threads, and would wait for them
 * forever. So a process other than the one that loaded the library works on the calling thread. */
static pid_t loading_process;

__attribute__((constructor)) static void remember_process(void)
{
    loading_process = getpid();
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* OpenMP's count of CPUs, not the calling thread's affinity mask: OMP_PROC_BIND narrows that to
 * one CPU. */
int32_t vjpi_most_threads(int32_t num_threads)
{
    int32_t wanted = num_threads > 0 ? num_threads : omp_get_num_procs();
    return smaller(wanted, smaller(omp_get_thread_limit(), VJPI_MAX_TASKS));
}

/* The team has the same size for few tasks as for many: GNU's runtime allocates, and starts or ends
 * threads, whenever the team size changes. */
static int32_t openmp_threads(const vjp_context *ctx)
{
    if (omp_in_parallel() || getpid() != loading_process)
        return 1;
    if (ctx->options.num_threads > 0)
        return vjpi_cpu_state(ctx)->most_threads;
    return smaller(vjpi_cpu_state(ctx)->most_threads, omp_get_max_threads());
}

static void run_openmp(int32_t threads, int64_t ntasks, vjp_task task, void *arg)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < ntasks; i++)
        task(arg, i);
}
#else
int32_t vjpi_most_threads(int32_t num_threads)
{
    (void)num_threads;
    return 1;
}

static int32_t openmp_threads(const vjp_context *ctx)
{
    return vjpi_cpu_state(ctx)->most_threads;
}
#endif

int32_t vjpi_threads(const vjp_context *ctx)
{
    if (ctx->options.num_threads == 1)
        return 1;
    return ctx->options.parallel_for ? 0 : openmp_threads(ctx);
}

void vjpi_parallel(const vjp_context *ctx, int32_t threads, int64_t ntasks, vjp_task task,
                   void *arg)
{
    if (threads == 0) {
        ctx->options.parallel_for(ctx->options.parallel_for_user, ntasks, task, arg);
        return;
    }
#if defined(VJPI_OPENMP)
    if (threads > 1) {
        run_openmp(threads, ntasks, task, arg);
        return;
    }
#endif
    for (int64_t i = 0; i < ntasks; i++)
        task(arg, i);
}
