/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cpu.c - time and bandwidth on the CPU, against a ceiling measured in the same moment.
 *
 * The operator, the ceiling (two reads and one write of the same buffers) and the peers take turns:
 * bench_turns.c. Shares and ratios are medians over the rounds. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "bench_ceiling.h"

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

void bench_cpu_caches(double sizes[BENCH_CACHES])
{
    int count = 0;
    for (int i = 0; count < BENCH_CACHES - 1 && i < BENCH_CACHES; i++) {
        char path[96], type[32] = "";
        int kib = 0;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        FILE *file = fopen(path, "r");
        bool known = file && fscanf(file, "%31s", type) == 1 && type[0] != 'I'; /* instructions */
        if (file)
            fclose(file);
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        file = known ? fopen(path, "r") : NULL;
        if (file && fscanf(file, "%dK", &kib) == 1 && kib > 0)
            sizes[count++] = 1024.0 * kib;
        if (file)
            fclose(file);
    }
    sizes[count] = 0;
}

/* ---- the ceiling -------------------------------------------------------------------------- */

/* Two inputs and an output of the data's shape, a version, and on how many threads. */
typedef struct triad {
    void *out;
    const void *a, *b;
    int64_t size;
    double moved; /* bytes; an input that is read twice counts once */
    ceiling_function version;
    int threads;
} triad;

static triad triad_of(const load *l)
{
    const problem *p = &l->p;
    triad t = { .out = l->spare, .threads = 1 };
    for (int32_t i = 0; i < p->ntensors; i++)
        t.size = (int64_t)l->stride[i] > t.size ? (int64_t)l->stride[i] : t.size;
    for (int32_t i = 0; i < p->ntensors; i++) {
        if ((int64_t)l->stride[i] != t.size) /* a parameter, a broadcast, or not given */
            continue;
        if (i >= p->op->ninputs && !t.out)
            t.out = l->blocks[i];
        else if (!t.a)
            t.a = l->blocks[i];
        else if (!t.b)
            t.b = l->blocks[i];
    }
    t.moved = (t.b ? 3.0 : 2.0) * (double)t.size;
    t.b = t.b ? t.b : t.a;
    return t;
}

static bool triad_run(void *state)
{
    const triad *t = state;
    ceiling_run(t->version, t->out, t->a, t->b, t->size, t->threads);
    return true;
}

/* The fastest version on one or on all threads: small work is not worth a second one. */
static triad fastest(const load *l, int threads)
{
    triad all[2 * CEILINGS];
    contender tried[2 * CEILINGS];
    int count = 0;
    for (int version = 0; version < CEILINGS; version++)
        for (int n = 1; n <= threads; n += threads > 1 ? threads - 1 : 1) {
            all[count] = triad_of(l);
            all[count].version = ceiling_at(version);
            all[count].threads = n;
            tried[count] = (contender){ .run = triad_run, .state = &all[count] };
            count += all[count].version != NULL;
        }
    return *(triad *)turns_fastest(tried, count)->state;
}

/* ---- measuring ---------------------------------------------------------------------------- */

static bool operator_run(void *state)
{
    return load_run(state, NULL) == VJP_OK;
}

static bool rival_run(void *state)
{
    const rival *r = state;
    return r->who->run(r->job) == 0;
}

/* The ceiling is what the bandwidth is that share of: the medians of either's times need not be
 * from the same moments. */
static sample sample_of(const contender *c, double bytes, const contender *ours,
                        const contender *top, const triad *t)
{
    sample s = { .ns = 1e9 * turns_median(c), .pairs = c->pairs };
    s.gbps = bytes / s.ns;
    s.share = turns_ratio(top, c) * bytes / t->moved;
    s.ceiling = s.gbps / s.share;
    s.over_vjp = turns_ratio(c, ours);
    return s;
}

bool bench_cpu_measure(load *l, int threads, double seconds, sample *s, rival *rivals, int nrivals)
{
    contender all[MOST_CONTENDERS];
    rival *of[MOST_CONTENDERS];
    if (load_run(l, NULL) != VJP_OK)
        return false;
    triad t = fastest(l, threads);
    int count = 2;
    all[0] = (contender){ .run = triad_run, .state = &t };
    all[1] = (contender){ .run = operator_run, .state = l };
    for (int i = 0; i < nrivals; i++)
        if (rivals[i].job) {
            of[count] = &rivals[i];
            all[count++] = (contender){ .run = rival_run, .state = &rivals[i], .beside = &all[1] };
        }
    if (!turns_take(all, count, seconds))
        return false;
    *s = sample_of(&all[1], l->bytes, &all[1], &all[0], &t);
    for (int i = 2; i < count; i++)
        of[i]->s = sample_of(&all[i], l->bytes, &all[1], &all[0], &t);
    return true;
}
