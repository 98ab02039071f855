/* SPDX-License-Identifier: Apache-2.0 */
/* perfdoc.c - the tables and charts of docs/performance.md from lines of `vjp bench --json`.
 *
 *     perfdoc FILE DIR    writes DIR/<chart>.svg, and Markdown that shows them on standard output
 *
 * To be run on the machine that measured: its caches are marked in the charts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bench.h"
#include "bench_report.h"
#include "chart.h"

enum {
    MOST_NAMES = 32,
    NSIZES = 5
};

static const char *const dtypes[] = { "f32", "bf16", "f16", "f64" };
static const double sizes[NSIZES] = { 0x1p12, 0x1p16, 0x1p20, 0x1p24, 0x1p26 };

/* ---- records ------------------------------------------------------------------------------ */

static bool is(const char *a, const char *b)
{
    return !strcmp(a, b);
}

static double elements(const record *r)
{
    double product = 1;
    for (const char *at = r->shape; *at; at += *at == 'x') {
        char *end;
        product *= strtod(at, &end);
        at = end > at ? end : at + 1;
    }
    return product;
}

static double per_element(const record *r)
{
    return r->ns / elements(r);
}

/* As the line has its bandwidth, a whole number for each element. */
static double bytes(const record *r)
{
    return round(r->gbps * per_element(r)) * elements(r);
}

/* What a table is about: lines of vjp on the CPU with these threads, memory and layout. */
typedef struct view {
    const records *all;
    int threads;
    const char *pages, *layout;
} view;

static bool in_view(const view *v, const record *r)
{
    return is(r->device, "cpu") && is(r->who, "vjp") && elements(r) > 1 &&
           r->threads == v->threads && is(r->pages, v->pages) && is(r->layout, v->layout);
}

/* Whether a peer's line is about the same as vjp's. */
static bool is_beside(const record *peer, const record *ours)
{
    return !is(peer->who, "vjp") && is(peer->name, ours->name) && is(peer->dtype, ours->dtype) &&
           is(peer->shape, ours->shape) && is(peer->layout, ours->layout) &&
           is(peer->pages, ours->pages) && is(peer->device, ours->device) &&
           peer->threads == ours->threads;
}

static bool has_peer(const records *all, const record *ours)
{
    for (int64_t i = 0; i < all->count; i++)
        if (is_beside(&all->at[i], ours))
            return true;
    return false;
}

/* The best of the peers beside a line of vjp, whose results agree; NULL if there is none. */
static const record *best_peer(const records *all, const record *ours)
{
    const record *best = NULL;
    for (int64_t i = 0; i < all->count; i++) {
        const record *r = &all->at[i];
        if (is_beside(r, ours) && !r->note[0] && r->over_vjp > 0 &&
            (!best || r->over_vjp < best->over_vjp))
            best = r;
    }
    return best;
}

/* The largest that peers were beside. */
static const record *largest(const view *v, const char *name, const char *dtype)
{
    const record *found = NULL;
    for (int64_t i = 0; i < v->all->count; i++) {
        const record *r = &v->all->at[i];
        if (in_view(v, r) && is(r->name, name) && is(r->dtype, dtype) && has_peer(v->all, r) &&
            (!found || elements(r) > elements(found)))
            found = r;
    }
    return found;
}

/* The one that is nearest to a size, but nearer than half or twice of it. */
static const record *line_at(const view *v, const char *name, const char *dtype, double size)
{
    const record *found = NULL;
    double least = 1;
    for (int64_t i = 0; i < v->all->count; i++) {
        const record *r = &v->all->at[i];
        if (!in_view(v, r) || !is(r->name, name) || !is(r->dtype, dtype) || !has_peer(v->all, r) ||
            fabs(log2(elements(r) / size)) >= least)
            continue;
        least = fabs(log2(elements(r) / size));
        found = r;
    }
    return found;
}

typedef struct names {
    int count;
    const char *at[MOST_NAMES];
} names;

/* The cases of a view, in order; with_peers: those that a peer was beside, or refused. */
static names names_of(const view *v, bool with_peers)
{
    names n = { 0 };
    for (int64_t i = 0; i < v->all->count; i++) {
        const record *r = &v->all->at[i];
        record ours = *r;
        int at = 0;
        snprintf(ours.who, sizeof(ours.who), "vjp");
        if (is(r->who, "vjp") == with_peers || !in_view(v, &ours))
            continue;
        while (at < n.count && !is(n.at[at], r->name))
            at++;
        if (at == n.count && n.count < MOST_NAMES)
            n.at[n.count++] = r->name;
    }
    return n;
}

/* ---- tables ------------------------------------------------------------------------------- */

static void put_beyond(const view *v, const char *title)
{
    names n = names_of(v, true);
    if (n.count == 0)
        return;
    printf("#### %s\n\n| case | shape | f32 | bf16 | f16 | f64 |\n|---|---|---|---|---|---|\n",
           title);
    for (int i = 0; i < n.count; i++) {
        const record *any = NULL;
        for (int64_t d = 0; d < COUNT_OF(dtypes) && !any; d++)
            any = largest(v, n.at[i], dtypes[d]);
        if (!any)
            continue;
        printf("| %s | %s |", n.at[i], any->shape);
        for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
            const record *ours = largest(v, n.at[i], dtypes[d]);
            const record *peer = ours ? best_peer(v->all, ours) : NULL;
            if (ours)
                printf(" %.0f %%", 100 * ours->share);
            if (peer)
                printf(", **%.2f** %.*s", peer->over_vjp, (int)strcspn(peer->who, " "), peer->who);
            printf(" |");
        }
        printf("\n");
    }
    printf("\n");
}

static void put_sizes(const view *v)
{
    names n = names_of(v, true);
    printf("#### Every size\n\n| case | dtype | 4 Ki | 64 Ki | 1 Mi | 16 Mi | 64 Mi |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n.count; i++)
        for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
            if (!largest(v, n.at[i], dtypes[d]))
                continue;
            printf("| %s | %s |", n.at[i], dtypes[d]);
            for (int s = 0; s < NSIZES; s++) {
                const record *ours = line_at(v, n.at[i], dtypes[d], sizes[s]);
                const record *peer = ours ? best_peer(v->all, ours) : NULL;
                if (peer)
                    printf(" %.2f |", peer->over_vjp);
                else
                    printf(" %s |", ours ? "no peer" : "");
            }
            printf("\n");
        }
    printf("\n");
}

/* Whether an earlier line says the same: only the first is shown. */
static bool said_before(const records *all, int64_t index, bool same_case)
{
    const record *r = &all->at[index];
    for (int64_t i = 0; i < index; i++)
        if (is(all->at[i].who, r->who) && is(all->at[i].dtype, r->dtype) &&
            is(all->at[i].note, r->note) && (!same_case || is(all->at[i].name, r->name)))
            return true;
    return false;
}

static void put_notes(const records *all)
{
    printf("#### Refused, or different\n\n| who | dtype | | cases |\n|---|---|---|---|\n");
    for (int64_t i = 0; i < all->count; i++) {
        const record *r = &all->at[i];
        const char *between = "";
        if (!r->note[0] || said_before(all, i, false))
            continue;
        printf("| %s | %s | %s | ", r->who, r->dtype, r->note);
        for (int64_t k = i; k < all->count; k++)
            if (is(all->at[k].who, r->who) && is(all->at[k].dtype, r->dtype) &&
                is(all->at[k].note, r->note) && !said_before(all, k, true)) {
                printf("%s%s", between, all->at[k].name);
                between = "; ";
            }
        printf(" |\n");
    }
    printf("\n");
}

/* ---- cliffs ------------------------------------------------------------------------------- */

static double last_dim(const record *r)
{
    const char *x = strrchr(r->shape, 'x');
    return strtod(x ? x + 1 : r->shape, NULL);
}

/* The same problem but for its layout, or with a last dim that differs by so much. */
static const record *neighbour(const records *all, const record *base, const char *layout,
                               double by)
{
    for (int64_t i = 0; i < all->count; i++) {
        const record *r = &all->at[i];
        if (is(r->who, "vjp") && is(r->name, base->name) && is(r->dtype, base->dtype) &&
            is(r->pages, base->pages) && r->threads == base->threads && is(r->layout, layout) &&
            last_dim(r) == last_dim(base) + by && fabs(elements(r) / elements(base) - 1) < 0.05)
            return r;
    }
    return NULL;
}

static void put_ratio(const record *r, const record *base)
{
    if (r)
        printf(" %.2f |", per_element(r) / per_element(base));
    else
        printf(" |");
}

static void put_cliffs(const records *all)
{
    printf("| case | dtype | shape | ns per element | one less | one more | odd length | "
           "off by one element | subnormal numbers |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int64_t i = 0; i < all->count; i++) {
        const record *base = &all->at[i];
        int exponent;
        const record *offset = neighbour(all, base, "off by one element", 0);
        if (!is(base->who, "vjp") || !is(base->layout, "plain") || !offset ||
            frexp(last_dim(base), &exponent) != 0.5)
            continue;
        printf("| %s | %s | %s | %.3f |", base->name, base->dtype, base->shape, per_element(base));
        put_ratio(neighbour(all, base, "plain", -1), base);
        put_ratio(neighbour(all, base, "plain", 1), base);
        put_ratio(neighbour(all, base, "plain", 1000003 - last_dim(base)), base);
        put_ratio(offset, base);
        put_ratio(neighbour(all, base, "subnormal numbers", 0), base);
        printf("\n");
    }
    printf("\n");
}

/* ---- charts ------------------------------------------------------------------------------- */

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
static void draw_ratios(const view *v, const char *folder)
{
    char labels[MOST_NAMES][CHART_LABEL], kinds[COUNT_OF(dtypes)][CHART_LABEL];
    double values[MOST_NAMES * COUNT_OF(dtypes)], marks[MOST_NAMES];
    names n = names_of(v, true);
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++)
        snprintf(kinds[d], CHART_LABEL, "%s", dtypes[d]);
    for (int i = 0; i < n.count; i++) {
        snprintf(labels[i], CHART_LABEL, "%s", n.at[i]);
        marks[i] = 1;
        for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
            const record *ours = largest(v, n.at[i], dtypes[d]);
            const record *peer = ours ? best_peer(v->all, ours) : NULL;
            values[i * COUNT_OF(dtypes) + d] = peer ? peer->over_vjp : 0;
        }
    }
    static const char title[] =
        "Time of the best peer over vjp's at the largest size; bars end at 4";
    FILE *file = open_chart(folder, "ratio");
    chart_bars_file(file, title,
                    &(bars){ .rows = n.count,
                             .nkinds = COUNT_OF(dtypes),
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

/* Lines over size, of the cases that were measured at many. */
static void draw_sizes(const view *v, const char *folder, bool bandwidth)
{
    enum {
        MANY = 12
    };
    double caches[BENCH_CACHES];
    names n = names_of(v, false);
    chart c = { .title = bandwidth ? "Bandwidth over size, f32, one thread"
                                   : "Time per element over size, f32, one thread",
                .unit = bandwidth ? "bytes read and written" : "elements",
                .measure = bandwidth ? "GB/s" : "ns per element",
                .scale = bandwidth ? CHART_BYTES : CHART_ELEMENTS,
                .marks = bandwidth ? caches : NULL };
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
                chart_add(&c, "ceiling", true, bytes(r), r->ceiling);
        }
    }
    draw(&c, folder, bandwidth ? "bandwidth" : "growth");
}

/* One thread's time over that of several, at the largest size in f32. */
static void draw_threads(const view *one, const char *folder)
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

/* ---- the program -------------------------------------------------------------------------- */

static int most_threads(const records *all)
{
    int most = 1;
    for (int64_t i = 0; i < all->count; i++)
        most = all->at[i].threads > most ? all->at[i].threads : most;
    return most;
}

static void put_peers(const records *all)
{
    view huge = { all, 1, "huge", "plain" }, ordinary = { all, 1, "ordinary", "plain" };
    view threads = { all, most_threads(all), "huge", "plain" };
    view last = { all, 1, "huge", "diff_dst channels last" };
    view broadcast = { all, 1, "huge", "diff_dst broadcast" };
    char title[64];
    put_beyond(&huge, "Largest size, one thread");
    snprintf(title, sizeof(title), "Largest size, %d threads", threads.threads);
    if (threads.threads > 1)
        put_beyond(&threads, title);
    put_beyond(&ordinary, "16 Mi elements on ordinary pages, one thread");
    put_beyond(&last, "src channels first, diff_dst channels last");
    put_beyond(&broadcast, "diff_dst one element, broadcast");
    put_sizes(&huge);
    put_notes(all);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: perfdoc FILE DIR\n");
        return 2;
    }
    FILE *lines = fopen(argv[1], "r");
    if (!lines) {
        fprintf(stderr, "perfdoc: cannot read %s\n", argv[1]);
        return 1;
    }
    records all = records_read(lines);
    view one = { &all, 1, "huge", "plain" };
    printf("### Beside the peers\n\n");
    draw_ratios(&one, argv[2]);
    put_peers(&all);
    printf("### Over size and threads\n\n");
    draw_sizes(&one, argv[2], true);
    draw_sizes(&one, argv[2], false);
    draw_threads(&one, argv[2]);
    printf("### No cliffs\n\n");
    put_cliffs(&all);
    fclose(lines);
    free(all.at);
    return 0;
}
