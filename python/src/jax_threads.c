/* SPDX-License-Identifier: Apache-2.0 */
/* jax_threads.c - the library's parallel-for on XLA's thread pool.
 *
 * Helpers and the caller take tasks from one counter. The caller waits only for tasks that are
 * running, so that a pool without a free thread cannot block it. A helper may come when all is
 * done: the job is counted by reference. */
#include "jax_ffi.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct job {
    vjp_task task;
    void *arg;
    int64_t ntasks;
    atomic_llong next, done;
    atomic_int references;
} job;

_Thread_local XLA_FFI_CallFrame *vjpy_jax_frame;

static void drop(job *job)
{
    if (atomic_fetch_sub(&job->references, 1) == 1)
        free(job);
}

static void take_tasks(job *job)
{
    int64_t i;
    while ((i = atomic_fetch_add(&job->next, 1)) < job->ntasks) {
        job->task(job->arg, i);
        atomic_fetch_add(&job->done, 1);
    }
}

static void help(void *data)
{
    take_tasks(data);
    drop(data);
}

static int64_t pool_size(const XLA_FFI_CallFrame *frame)
{
    int64_t count = 1;
    XLA_FFI_ThreadPool_NumThreads_Args args = { sizeof args, NULL, frame->ctx, &count };
    XLA_FFI_Error *error = frame->api->XLA_FFI_ThreadPool_NumThreads(&args);
    vjpy_jax_forget(frame->api, error);
    return error ? 1 : count;
}

void vjpy_jax_threads(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    const XLA_FFI_CallFrame *frame = vjpy_jax_frame;
    int64_t helpers = frame ? pool_size(frame) - 1 : 0;
    job *job = helpers > 0 && ntasks > 1 ? malloc(sizeof(*job)) : NULL;
    (void)user;
    if (!job) {
        for (int64_t i = 0; i < ntasks; i++)
            task(arg, i);
        return;
    }
    job->task = task;
    job->arg = arg;
    job->ntasks = ntasks;
    atomic_init(&job->next, 0);
    atomic_init(&job->done, 0);
    atomic_init(&job->references, 1);
    for (int64_t i = 0; i < helpers && i < ntasks - 1; i++) {
        XLA_FFI_ThreadPool_Schedule_Args args = { sizeof args, NULL, frame->ctx, help, job };
        atomic_fetch_add(&job->references, 1);
        XLA_FFI_Error *error = frame->api->XLA_FFI_ThreadPool_Schedule(&args);
        if (error) { /* was not scheduled */
            vjpy_jax_forget(frame->api, error);
            drop(job);
            break;
        }
    }
    take_tasks(job);
    while (atomic_load(&job->done) < ntasks)
        sched_yield();
    drop(job);
}
