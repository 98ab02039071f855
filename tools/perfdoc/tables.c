/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - the tables of docs/performance.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "perfdoc.h"

enum {
    NSIZES = 5
};

static const double sizes[NSIZES] = { 0x1p12, 0x1p16, 0x1p20, 0x1p24, 0x1p26 };

/* A long table, folded until the reader opens it; ends with </details>. */
static void put_fold(const char *summary)
{
    printf("<details markdown=\"1\">\n<summary>%s</summary>\n\n", summary);
}

/* ---- beside the peers --------------------------------------------------------------------- */

static void put_head(const char *title, const names *dtypes)
{
    printf("#### %s\n\n| case | shape |", title);
    for (int d = 0; d < dtypes->count; d++)
        printf(" %s |", dtypes->at[d]);
    printf("\n|---|---|");
    for (int d = 0; d < dtypes->count; d++)
        printf("---|");
    printf("\n");
}

static void put_beyond(const view *v, const char *title)
{
    names n = names_of(v), dtypes = dtypes_of(v->all);
    if (n.count == 0)
        return;
    put_head(title, &dtypes);
    for (int i = 0; i < n.count; i++) {
        const record *any = NULL;
        for (int d = 0; d < dtypes.count && !any; d++)
            any = largest(v, n.at[i], dtypes.at[d]);
        if (!any)
            continue;
        printf("| %s | %s |", n.at[i], any->shape);
        for (int d = 0; d < dtypes.count; d++) {
            const record *ours = largest(v, n.at[i], dtypes.at[d]);
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

static void put_sizes(const view *v)
{
    names n = names_of(v), dtypes = dtypes_of(v->all);
    printf("#### Every size\n\nThe best peer's time over ours, by the number of elements, on one "
           "thread.\n\n");
    put_fold("A row per case and dtype");
    printf("| case | dtype | 4 Ki | 64 Ki | 1 Mi | 16 Mi | 64 Mi |\n|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n.count; i++)
        for (int d = 0; d < dtypes.count; d++) {
            if (!largest(v, n.at[i], dtypes.at[d]))
                continue;
            printf("| %s | %s |", n.at[i], dtypes.at[d]);
            for (int s = 0; s < NSIZES; s++) {
                const record *ours = line_at(v, n.at[i], dtypes.at[d], sizes[s]);
                const record *peer = ours ? best_peer(v->all, ours) : NULL;
                if (peer)
                    printf(" %.2f |", peer->over_vjp);
                else
                    printf(" %s |", ours ? "no peer" : "");
            }
            printf("\n");
        }
    printf("\n</details>\n\n");
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

static int most_threads(const records *all)
{
    int most = 1;
    for (int64_t i = 0; i < all->count; i++)
        most = all->at[i].threads > most ? all->at[i].threads : most;
    return most;
}

void put_peers(const records *all)
{
    view huge = { all, 1, "huge", "plain" }, ordinary = { all, 1, "ordinary", "plain" };
    view threads = { all, most_threads(all), "huge", "plain" };
    view last = { all, 1, "huge", "channels last" };
    view broadcast = { all, 1, "huge", "broadcast" };
    char title[64];
    put_beyond(&huge, "Largest size, one thread");
    snprintf(title, sizeof(title), "Largest size, %d threads", threads.threads);
    if (threads.threads > 1)
        put_beyond(&threads, title);
    put_beyond(&ordinary, "16 Mi elements on ordinary pages, one thread");
    put_beyond(&last, "The gradient channels last, the others channels first");
    put_beyond(&broadcast, "The gradient one element, broadcast");
    put_sizes(&huge);
    put_notes(all);
}

/* ---- cliffs ------------------------------------------------------------------------------- */

static double last_dim(const record *r)
{
    const char *x = strrchr(r->shape, 'x');
    return strtod(x ? x + 1 : r->shape, NULL);
}

/* The same problem except for its layout, or with a last dim that differs by this much. */
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

void put_cliffs(const records *all)
{
    printf("Time per element, and what it is multiplied by when the last dim is one less or one "
           "more, when the\nlength is odd (1000003), when all data starts one element after an "
           "aligned address, and when it is\nsubnormal.\n\n");
    put_fold("A row per case, dtype and shape");
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
    printf("\n</details>\n\n");
}
