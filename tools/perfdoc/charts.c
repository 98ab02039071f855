/* SPDX-License-Identifier: Apache-2.0 */
/* charts.c - the charts of docs/performance.md. */
#include <math.h>
#include <stdio.h>

#include "base.h"
#include "bench.h"
#include "chart.h"
#include "perfdoc.h"

static FILE *open_chart(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.svg", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        broken("cannot write %s", path);
    return file;
}

/* Also shows it: a page beside the folder does. */
static void close_chart(FILE *file, const char *folder, const char *name, const char *title)
{
    const char *slash = strrchr(folder, '/');
    bool well = !ferror(file);
    if (fclose(file) != 0 || !well)
        broken("a chart could not be written");
    printf("![%s](%s/%s.svg)\n\n", title, slash ? slash + 1 : folder, name);
}

static void draw(const chart *c, const char *folder, const char *name)
{
    if (!chart_has_line(c))
        return;
    FILE *file = open_chart(folder, name);
    chart_file(file, c);
    close_chart(file, folder, name, c->title);
}

/* The best peer's time over vjp's, at the largest size. */
void draw_ratios(const view *v, const char *folder)
{
    char labels[MOST_NAMES][CHART_LABEL], kinds[MOST_NAMES][CHART_LABEL];
    double values[MOST_NAMES * MOST_NAMES], marks[MOST_NAMES];
    names n = names_of(v, true), dtypes = dtypes_of(v->all);
    for (int d = 0; d < dtypes.count; d++)
        snprintf(kinds[d], CHART_LABEL, "%s", dtypes.at[d]);
    for (int i = 0; i < n.count; i++) {
        snprintf(labels[i], CHART_LABEL, "%s", n.at[i]);
        marks[i] = 1;
        for (int d = 0; d < dtypes.count; d++) {
            const record *ours = largest(v, n.at[i], dtypes.at[d]);
            const record *peer = ours ? best_peer(v->all, ours) : NULL;
            values[i * dtypes.count + d] = peer ? peer->over_vjp : 0;
        }
    }
    static const char title[] =
        "Time of the best peer over vjp's at the largest size; bars end at 4";
    FILE *file = open_chart(folder, "ratio");
    chart_bars_file(file, title,
                    &(bars){ .rows = n.count,
                             .nkinds = dtypes.count,
                             .labels = labels,
                             .kinds = kinds,
                             .values = values,
                             .marks = marks,
                             .unit = "",
                             .most = 4 });
    close_chart(file, folder, "ratio", title);
}

/* Whether a line is a point of the charts over size: f32, a power of two. */
static bool is_point(const view *v, const record *r, const char *name)
{
    int exponent;
    return in_view(v, r) && is(r->name, name) && is(r->dtype, "f32") &&
           frexp(elements(r), &exponent) == 0.5;
}

static int count_points(const view *v, const char *name)
{
    int count = 0;
    for (int64_t i = 0; i < v->all->count; i++)
        count += is_point(v, &v->all->at[i], name);
    return count;
}

/* As the line has its bandwidth, a whole number for each element. */
static double bytes(const record *r)
{
    return round(r->gbps * per_element(r)) * elements(r);
}

/* Lines over size, of the cases that were measured at many. */
void draw_sizes(const view *v, const char *folder, bool bandwidth)
{
    enum {
        MANY = 12
    };
    double caches[BENCH_CACHES];
    char dashes[CHART_LABEL] = "";
    names n = names_of(v, false);
    chart c = { .title = bandwidth ? "Bandwidth over size, f32, one thread"
                                   : "Time per element over size, f32, one thread",
                .unit = bandwidth ? "bytes read and written" : "elements",
                .measure = bandwidth ? "GB/s" : "ns per element",
                .scale = bandwidth ? CHART_BYTES : CHART_ELEMENTS,
                .marks = bandwidth ? caches : NULL,
                .dashes = dashes };
    bench_cpu_caches(caches);
    for (int k = 0; k < n.count; k++) {
        bool many = count_points(v, n.at[k]) >= MANY;
        for (int64_t i = 0; i < v->all->count && many; i++) {
            const record *r = &v->all->at[i];
            if (!is_point(v, r, n.at[k]))
                continue;
            chart_add(&c, r->name, false, bandwidth ? bytes(r) : elements(r),
                      bandwidth ? r->gbps : per_element(r));
            if (bandwidth && is(r->name, c.series[0].name))
                chart_add(&c, r->name, true, bytes(r), r->ceiling);
        }
    }
    if (c.count > 0)
        snprintf(dashes, sizeof(dashes), "ceiling of %s", c.series[0].name);
    draw(&c, folder, bandwidth ? "bandwidth" : "growth");
}

/* One thread's time over that of several, at the largest size in f32. */
void draw_threads(const view *one, const char *folder)
{
    names n = names_of(one, true);
    chart c = { .title = "Speed over threads, f32, largest size; one thread is 1",
                .unit = "threads",
                .measure = "times" };
    for (int i = 0; i < n.count; i++) {
        const record *alone = largest(one, n.at[i], "f32");
        for (int64_t k = 0; alone && k < one->all->count; k++) {
            const record *r = &one->all->at[k];
            view at = *one;
            at.threads = r->threads;
            if (in_view(&at, r) && is(r->name, n.at[i]) && is(r->dtype, "f32") &&
                is(r->shape, alone->shape))
                chart_add(&c, n.at[i], false, r->threads, alone->ns / r->ns);
        }
    }
    draw(&c, folder, "threads");
}
