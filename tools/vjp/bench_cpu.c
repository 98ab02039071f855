/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cpu.c - time and bandwidth on the CPU, against a ceiling measured in the same moment.
 *
 * The operator and the ceiling (two reads and one write of the same buffers) take turns; the share
 * is the median of the pairs' ratios, since a machine's speed changes from second to second. Small
 * problems are run several times for each reading of the clock, and so from the cache. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "bench_ceiling.h"

enum {
    PAIRS = 41
};

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

/* A ceiling: two inputs and an output of the data's shape, a version, and on how many threads. */
typedef struct triad {
    void *out;
    const void *a, *b;
    int64_t size;
    ceiling_function version;
    int threads;
} triad;

static triad triad_of(const load *l)
{
    const problem *p = &l->p;
    triad t = { .threads = 1 };
    for (int32_t i = 0; i < p->ntensors; i++) {
        if (vjp_op_tensor(p->op, i)->shape_rule != VJP_SHAPE_DATA)
            continue;
        if (i >= p->op->ninputs && !t.out)
            t.out = load_buffer(l, i);
        else if (!t.a)
            t.a = load_buffer(l, i);
        else if (!t.b)
            t.b = load_buffer(l, i);
    }
    t.size = (int64_t)l->stride[0];
    return t;
}

static double triad_time(const triad *t, int64_t times)
{
    double start = bench_now();
    for (int64_t i = 0; i < times; i++)
        ceiling_run(t->version, t->out, t->a, t->b, t->size, t->threads);
    return (bench_now() - start) / (double)times;
}

static double run_time(load *l, int64_t times)
{
    double start = bench_now();
    for (int64_t i = 0; i < times; i++)
        load_run(l, NULL);
    return (bench_now() - start) / (double)times;
}

/* How often to run for one reading of the clock: 50 us of work. */
static int64_t times_for(double seconds)
{
    return seconds > 50e-6 ? 1 : (int64_t)(50e-6 / (seconds + 1e-9)) + 1;
}

/* The fastest version on one or on all threads: small work is not worth a second one. */
static triad fastest(const load *l, int threads)
{
    enum {
        TRIES = 3
    };
    triad t = triad_of(l), best = t;
    double least = 0;
    for (int version = 0; version < CEILINGS; version++)
        for (t.threads = 1; t.threads <= threads; t.threads += threads > 1 ? threads - 1 : 1) {
            t.version = ceiling_at(version);
            if (!t.version)
                continue;
            int64_t times = times_for(triad_time(&t, 1));
            for (int i = 0; i < TRIES; i++) {
                double time = triad_time(&t, times);
                if (!best.version || time < least) {
                    least = time;
                    best = t;
                }
            }
        }
    return best;
}

bool bench_cpu_measure(load *l, int threads, sample *s)
{
    double ratio[PAIRS], times[PAIRS], ceilings[PAIRS];
    if (load_run(l, NULL) != VJP_OK)
        return false;
    triad t = fastest(l, threads);
    int64_t runs = times_for(run_time(l, 10)), triads = times_for(triad_time(&t, 10));
    double moved = 3.0 * (double)t.size;
    for (int i = 0; i < PAIRS; i++) {
        ceilings[i] = triad_time(&t, triads);
        times[i] = run_time(l, runs);
        ratio[i] = l->bytes / times[i] / (moved / ceilings[i]);
    }
    *s = (sample){ .share = bench_median(ratio, PAIRS) };
    s->ns = 1e9 * bench_median(times, PAIRS);
    s->gbps = l->bytes / s->ns;
    s->ceiling = moved / bench_median(ceilings, PAIRS) / 1e9;
    return true;
}
