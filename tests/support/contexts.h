/* SPDX-License-Identifier: Apache-2.0 */
/* contexts.h - contexts for every instruction set, and a parallel-for made of plain pthreads. */
#ifndef VJP_TESTS_CONTEXTS_H
#define VJP_TESTS_CONTEXTS_H

#include "fpmode.h"
#include "isas.h"

/* isa_contexts - one for each of all_isas, NULL where the machine lacks it; filled and emptied by
 * these two fixtures of a test group. */
extern vjp_context *isa_contexts[ISAS];
int isa_contexts_open(void **state);
int isa_contexts_close(void **state);

/* The order in which a pthread_team takes the tasks that it is given. */
typedef enum task_order {
    TASKS_FORWARD,
    TASKS_BACKWARD,
    TASKS_SHUFFLED
} task_order;

/* A team of threads, started and joined for every call, each in the given floating-point mode. */
typedef struct pthread_team {
    int32_t nthreads;
    task_order order;
    fpmode mode;
    int64_t tasks_run; /* over all calls */
} pthread_team;

/* pthread_team_run - a vjp_parallel_for whose user is a pthread_team. */
void pthread_team_run(void *user, int64_t ntasks, vjp_task task, void *arg);

#endif
