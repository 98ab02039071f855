/* SPDX-License-Identifier: Apache-2.0 */
/* check_threads.c - one plan, run on several threads of the host at once; see check.h.
 *
 * Each thread has its own values, memory, workspace and stream. */
#include <pthread.h>
#include <stdlib.h>

#include "cases.h"
#include "check.h"

enum {
    THREADS = 4,
    ROUNDS = 8,
    POISON = 0x3c
};

typedef struct worker {
    probe t;
    const vjp_plan *plan;
    memory where; /* a copy: errors are kept by each thread */
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    memory_enter(&w->where);
    w->t.device.where = &w->where;
    probe_execute(&w->t, &w->t.device, w->plan, ON_OWN_STREAM);
    return NULL;
}

/* All workers at once; false if one of them went wrong. */
static bool round_trip(checks *c, worker workers[THREADS])
{
    pthread_t threads[THREADS];
    bool well = true;
    for (int i = 0; i < THREADS; i++) {
        probe_prepare(&workers[i].t, &workers[i].t.device, POISON);
        workers[i].where = c->device;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            abort();
    for (int i = 0; i < THREADS; i++) {
        worker *w = &workers[i];
        pthread_join(threads[i], NULL);
        w->t.device.where = &c->device;
        if (w->where.error)
            c->device.error = w->where.error;
        well = well && !w->t.failure[0] && probe_settle(&w->t, &w->t.device, POISON) &&
               probe_compare(&w->t, c->device.cuda != NULL);
    }
    return well;
}

static void check_operator(checks *c, const char *op)
{
    worker workers[THREADS];
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    problem p = case_draw_within(op, VJP_F32, VJP_F32, 1, CASE_MEDIUM);
    bool well = problem_create(&p, c->context, &plan, reason) == VJP_OK;
    for (int i = 0; i < THREADS; i++) {
        probe *t = &workers[i].t;
        workers[i].plan = plan;
        well = probe_open(t, &p, (uint64_t)i, &c->host, &c->device) && well;
        if (!plan)
            probe_fail(t, "no plan: %s", reason);
        well = well && probe_run(t, &t->reference, c->reference, ON_DEFAULT_STREAM, POISON);
    }
    for (int round = 0; round < ROUNDS && well; round++)
        well = round_trip(c, workers);
    int blamed = 0;
    while (blamed < THREADS - 1 && !workers[blamed].t.failure[0])
        blamed++;
    checks_count(c, &workers[blamed].t, well);
    for (int i = 0; i < THREADS; i++)
        probe_close(&workers[i].t);
    vjp_plan_destroy(plan);
}

int64_t check_threads(checks *c, bool dry)
{
    for (int32_t op = 0; op < vjp_op_count() && !dry && !c->device.error; op++)
        check_operator(c, vjp_op_at(op)->name);
    return vjp_op_count();
}
