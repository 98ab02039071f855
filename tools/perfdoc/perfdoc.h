/* SPDX-License-Identifier: Apache-2.0 */
/* perfdoc.h - the parts of perfdoc: lines.c finds what was measured, tables.c shows it. */
#ifndef PERFDOC_H
#define PERFDOC_H

#include <stdbool.h>
#include <string.h>

#include "bench_report.h"

enum {
    MOST_NAMES = 256
};

static inline bool is(const char *a, const char *b)
{
    return !strcmp(a, b);
}

/* ---- lines.c ------------------------------------------------------------------------------- */

/* What a table is about: lines of vjp on the CPU with these threads, memory and a layout that ends
 * like that. */
typedef struct view {
    const records *all;
    int threads;
    const char *pages, *layout;
} view;

typedef struct names {
    int count;
    const char *at[MOST_NAMES];
} names;

double elements(const record *r);
double per_element(const record *r); /* ns */

bool in_view(const view *v, const record *r);
bool has_peer(const records *all, const record *ours);

/* The best peer for a line of vjp among those whose results agree; NULL if there is none. */
const record *best_peer(const records *all, const record *ours);

/* The largest that peers were beside. */
const record *largest(const view *v, const char *name, const char *dtype);

/* All dtypes that were measured, in order. */
names dtypes_of(const records *all);

/* The cases of a view that a peer was beside, or refused, in order. */
names names_of(const view *v);

/* ---- tables.c ------------------------------------------------------------------------------ */

void put_peers(const records *all);
void put_cliffs(const records *all);

#endif
