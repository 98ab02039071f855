/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - who runs the tasks: the caller's parallel-for, OpenMP or the calling thread.
 *
 * What a task computes does not depend on who runs it, nor on how many there are. */
#include <unistd.h>

#include "cpu/stage.h"

#if defined(VJPI_OPENMP)
#include <omp.h>

/* A forked child inherits OpenMP's bookkeeping without its threads, and waits for them for ever.
 * So a process that is not the one that loaded the library does its work itself. */
static pid_t loading_process;

__attribute__((constructor)) static void remember_process(void)
{
    loading_process = getpid();
}

/* As many for few tasks as for many: GNU's runtime allocates, and starts or ends threads, whenever
 * a team has another size than the one before. */
static int openmp_threads(const vjp_context *ctx)
{
    if (omp_in_parallel() || getpid() != loading_process)
        return 1;
    return ctx->options.num_threads > 0 ? ctx->options.num_threads : omp_get_max_threads();
}

static void run_openmp(int threads, int64_t ntasks, vjp_task task, void *arg)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < ntasks; i++)
        task(arg, i);
}
#endif

void vjpi_parallel(const vjp_context *ctx, int64_t ntasks, vjp_task task, void *arg)
{
    if (ntasks > 1 && ctx->options.num_threads != 1) {
        if (ctx->options.parallel_for) {
            ctx->options.parallel_for(ctx->options.parallel_for_user, ntasks, task, arg);
            return;
        }
#if defined(VJPI_OPENMP)
        int threads = openmp_threads(ctx);
        if (threads > 1) {
            run_openmp(threads, ntasks, task, arg);
            return;
        }
#endif
    }
    for (int64_t i = 0; i < ntasks; i++)
        task(arg, i);
}
