/* SPDX-License-Identifier: Apache-2.0 */
/* contexts.c - see contexts.h. Sanitizers see pthreads but not OpenMP's, hence the team. */
#define _DEFAULT_SOURCE

#include "contexts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "random.h"
#include "unit.h"

vjp_context *isa_contexts[ISAS];

int isa_contexts_open(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        isa_contexts[isa] = context_for_isa(all_isas[isa], NULL);
    return 0;
}

int isa_contexts_close(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        vjp_context_destroy(isa_contexts[isa]);
    return 0;
}

typedef struct team_call {
    pthread_team *team;
    int32_t *order;
    int64_t ntasks;
    atomic_llong next;
    vjp_task task;
    void *arg;
} team_call;

static void *work(void *argument)
{
    team_call *call = argument;
    fpmode_set(call->team->mode);
    for (;;) {
        long long i = atomic_fetch_add(&call->next, 1);
        if (i >= call->ntasks)
            return NULL;
        call->task(call->arg, call->order[i]);
    }
}

static int32_t *ordered_tasks(task_order order, int64_t ntasks)
{
    int32_t *tasks = unit_malloc((size_t)ntasks * sizeof *tasks);
    for (int32_t i = 0; i < ntasks; i++)
        tasks[i] = (int32_t)(order == TASKS_BACKWARD ? ntasks - 1 - i : i);
    random_state random = random_start(random_seed(), (uint64_t)ntasks);
    if (order == TASKS_SHUFFLED)
        random_shuffle(&random, tasks, (int32_t)ntasks);
    return tasks;
}

void pthread_team_run(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    enum {
        MOST_THREADS = 16
    };
    pthread_t threads[MOST_THREADS];
    pthread_team *team = user;
    team_call call = { team, ordered_tasks(team->order, ntasks), ntasks, 0, task, arg };
    int32_t nthreads = team->nthreads < MOST_THREADS ? team->nthreads : MOST_THREADS;
    for (int32_t i = 0; i < nthreads; i++)
        if (pthread_create(&threads[i], NULL, work, &call) != 0)
            abort();
    for (int32_t i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    team->tasks_run += ntasks;
    free(call.order);
}
