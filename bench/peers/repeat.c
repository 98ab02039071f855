/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c - seconds that n calls take, in turns timed here: Python is not among what is timed.
 *
 * Built by cpu.py, with tools/vjp/bench_ceiling.c. oneDNN's function comes as a pointer, so that
 * its headers are not needed; `wait` is its dnnl_stream_wait. A call that fails gives -1. */
#define _POSIX_C_SOURCE 199309L

#include <time.h>

#include <vjp/vjp.h>

#include "bench_ceiling.h"

typedef vjp_status run_function(const vjp_plan *plan, void *const *buffers, void *workspace,
                                size_t workspace_size, void *stream);
typedef int execute_function(const void *primitive, void *stream, int count, const void *arguments);
typedef int wait_function(void *stream);

double repeat_vjp(run_function *run, const vjp_plan *plan, void *const *buffers, void *workspace,
                  size_t workspace_size, int64_t n);
double repeat_onednn(execute_function *execute, wait_function *wait, const void *primitive,
                     void *stream, int count, const void *arguments, int64_t n);
double repeat_ceiling(int version, void *out, const void *a, const void *b, int64_t size,
                      int threads, int64_t n);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double repeat_vjp(run_function *run, const vjp_plan *plan, void *const *buffers, void *workspace,
                  size_t workspace_size, int64_t n)
{
    double start = now();
    for (int64_t i = 0; i < n; i++)
        if (run(plan, buffers, workspace, workspace_size, NULL) != VJP_OK)
            return -1;
    return now() - start;
}

double repeat_onednn(execute_function *execute, wait_function *wait, const void *primitive,
                     void *stream, int count, const void *arguments, int64_t n)
{
    double start = now();
    for (int64_t i = 0; i < n; i++)
        if (execute(primitive, stream, count, arguments) != 0)
            return -1;
    return wait(stream) == 0 ? now() - start : -1;
}

double repeat_ceiling(int version, void *out, const void *a, const void *b, int64_t size,
                      int threads, int64_t n)
{
    ceiling_function triad = ceiling_at(version);
    if (!triad)
        return -1;
    double start = now();
    for (int64_t i = 0; i < n; i++)
        ceiling_run(triad, out, a, b, size, threads);
    return now() - start;
}
