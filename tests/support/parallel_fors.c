/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_fors.c - see parallel_fors.h. */
#define _DEFAULT_SOURCE

#include "parallel_fors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base.h"
#include "variants.h"

/* Some of the tasks of a call: first .. end - 1. */
typedef struct range {
    int64_t first, end;
    int depth; /* how often it is still to be halved */
    vjp_task task;
    void *arg;
} range;

static void *run_backwards(void *argument)
{
    const range *r = argument;
    for (int64_t i = r->end - 1; i >= r->first; i--)
        r->task(r->arg, i);
    return NULL;
}

static pthread_t start(void *(*work)(void *), range *r)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, r) != 0)
        broken("no thread for some tasks");
    return thread;
}

static void count_tasks(void *user, int64_t ntasks)
{
    if (user != NULL)
        atomic_fetch_add((atomic_llong *)user, ntasks);
}

static void all_backwards(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    range all = { 0, ntasks, 0, task, arg };
    count_tasks(user, ntasks);
    run_backwards(&all);
}

static void all_on_another_thread(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    range all = { 0, ntasks, 0, task, arg };
    count_tasks(user, ntasks);
    pthread_join(start(run_backwards, &all), NULL);
}

static void each_on_a_thread_of_its_own(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    pthread_t *threads = unit_malloc((size_t)ntasks * sizeof *threads);
    range *ranges = unit_malloc((size_t)ntasks * sizeof *ranges);
    count_tasks(user, ntasks);
    for (int64_t i = 0; i < ntasks; i++) {
        ranges[i] = (range){ i, i + 1, 0, task, arg };
        threads[i] = start(run_backwards, &ranges[i]);
    }
    for (int64_t i = 0; i < ntasks; i++)
        pthread_join(threads[i], NULL);
    free(ranges);
    free(threads);
}

/* The second half on a new thread, the first on this one; each is halved again. */
static void *run_halves(void *argument)
{
    range *r = argument;
    if (r->depth == 0)
        return run_backwards(r);
    int64_t middle = r->first + (r->end - r->first) / 2;
    range low = { r->first, middle, r->depth - 1, r->task, r->arg };
    range high = { middle, r->end, r->depth - 1, r->task, r->arg };
    pthread_t thread = start(run_halves, &high);
    run_halves(&low);
    pthread_join(thread, NULL);
    return NULL;
}

static void nested_twice(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    range all = { 0, ntasks, 2, task, arg };
    count_tasks(user, ntasks);
    run_halves(&all);
}

/* A run of the library between the tasks of another: each operator in turn. */
static void run_something_else(int64_t turn)
{
    enum {
        ROWS = 3,
        COLUMNS = 37
    };
    static float inputs[ROWS * COLUMNS]; /* zeros: runs on other threads may read them too */
    float outputs[PROBLEM_TENSORS][ROWS * COLUMNS] = { { 0 } };
    const int64_t shape[] = { ROWS, COLUMNS }, columns = COLUMNS;
    problem p = variant_problem(vjp_op_at((int32_t)(turn % vjp_op_count())), 0);
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    problem_contiguous(&p, VJP_F32, VJP_F32, 2, shape, 1, &columns);
    for (int32_t t = 0; t < p.ntensors; t++) {
        tensors[t] = &p.tensors[t];
        data[t] = t < p.op->ninputs ? inputs : outputs[t];
    }
    if (vjp_compute(NULL, p.op->name, p.attrs, p.nattrs, tensors, p.ntensors,
                    (const void *const *)data, data + p.op->ninputs, NULL, 0) != VJP_OK)
        broken("a run inside a run was refused");
}

static void with_runs_in_between(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    count_tasks(user, ntasks);
    for (int64_t i = 0; i < ntasks; i++) {
        run_something_else(i);
        task(arg, i);
    }
}

const named_parallel_for parallel_fors[PARALLEL_FORS] = {
    { "all backwards on the caller", all_backwards },
    { "all on one other thread", all_on_another_thread },
    { "each on a thread of its own", each_on_a_thread_of_its_own },
    { "threads that start threads, twice", nested_twice },
    { "another run between any two", with_runs_in_between },
};
