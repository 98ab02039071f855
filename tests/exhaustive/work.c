/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - threads that take the blocks of a job, and a progress bar. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "exhaustive.h"

enum {
    MOST_THREADS = 64,
    BAR = 30
};

typedef struct crew {
    const job *j;
    int64_t blocks, step; /* how many are taken; from one to the next */
    atomic_llong next, finished;
    pthread_mutex_t lock; /* of worsts */
    worst worsts[WORSTS];
} crew;

void worst_join(worst *to, const worst *from)
{
    if (from->error > to->error || (from->error == to->error && from->index < to->index))
        *to = *from;
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *take_blocks(void *argument)
{
    crew *c = argument;
    worst worsts[WORSTS] = { NO_WORST, NO_WORST };
    void *state = c->j->method->open(c->j);
    for (;;) {
        long long index = atomic_fetch_add(&c->next, 1);
        if (index >= c->blocks)
            break;
        c->j->method->block(state, c->j, index * c->step, worsts);
        atomic_fetch_add(&c->finished, 1);
    }
    c->j->method->close(state);
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < WORSTS; i++)
        worst_join(&c->worsts[i], &worsts[i]);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* The time left is estimated from the assumed costs, corrected by the time taken so far. */
static void show(const crew *c, double began, double done, double total)
{
    static double first = -1;
    double share = (double)c->finished / (double)c->blocks, cost = done + share * c->j->cost;
    int filled = (int)(BAR * cost / total);
    if (first < 0)
        first = began;
    double elapsed = now(CLOCK_MONOTONIC) - first,
           left = cost > 0 ? elapsed * (total - cost) / cost : 0;
    fprintf(stderr, "\r[");
    for (int i = 0; i < BAR; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %5.1f %%, %3.0f min left: %s %s, %.0f %%\033[K", 100 * cost / total,
            left / 60, c->j->name, vjp_dtype_name(c->j->dtype), 100 * share);
}

double work_all(const job *j, int threads, int step, double done, double total, worst w[WORSTS])
{
    pthread_t ids[MOST_THREADS];
    double began = now(CLOCK_MONOTONIC), cpu_began = now(CLOCK_PROCESS_CPUTIME_ID);
    int64_t blocks = (j->method->blocks(j) + step - 1) / step;
    crew c = { .j = j, .blocks = blocks, .step = step, .lock = PTHREAD_MUTEX_INITIALIZER,
               .worsts = { NO_WORST, NO_WORST } };
    int started = 0, quiet = !isatty(STDERR_FILENO);
    while (started < threads && started < MOST_THREADS)
        if (pthread_create(&ids[started++], NULL, take_blocks, &c) != 0)
            abort();
    for (int tick = 0; c.finished < c.blocks; tick++) {
        nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
        if (tick % (quiet ? 300 : 5) == 0)
            show(&c, began, done, total);
    }
    for (int i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < WORSTS; i++)
        w[i] = c.worsts[i];
    if (!quiet)
        fprintf(stderr, "\r\033[K");
    double all = (double)j->method->blocks(j) / (double)blocks;
    return all * (now(CLOCK_PROCESS_CPUTIME_ID) - cpu_began);
}
