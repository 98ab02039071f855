/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - what perfdoc finds among the lines of `vjp bench --json`. */
#include <stdio.h>
#include <stdlib.h>

#include "perfdoc.h"

double elements(const record *r)
{
    double product = 1;
    for (const char *at = r->shape; *at; at += *at == 'x') {
        char *end;
        product *= strtod(at, &end);
        at = end > at ? end : at + 1;
    }
    return product;
}

double per_element(const record *r)
{
    return r->ns / elements(r);
}

/* "diff_dst channels last" is a layout that ends with "channels last". */
static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && is(text + length - tail, end);
}

bool in_view(const view *v, const record *r)
{
    return is(r->device, "cpu") && is(r->who, "vjp") && elements(r) > 1 &&
           r->threads == v->threads && is(r->pages, v->pages) && ends_with(r->layout, v->layout);
}

/* Whether a peer's line is about the same as vjp's. */
static bool is_beside(const record *peer, const record *ours)
{
    return !is(peer->who, "vjp") && is(peer->name, ours->name) && is(peer->dtype, ours->dtype) &&
           is(peer->shape, ours->shape) && is(peer->layout, ours->layout) &&
           is(peer->pages, ours->pages) && is(peer->device, ours->device) &&
           peer->threads == ours->threads;
}

bool has_peer(const records *all, const record *ours)
{
    for (int64_t i = 0; i < all->count; i++)
        if (is_beside(&all->at[i], ours))
            return true;
    return false;
}

const record *best_peer(const records *all, const record *ours)
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

const record *largest(const view *v, const char *name, const char *dtype)
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

static void add_name(names *n, const char *name)
{
    int at = 0;
    while (at < n->count && !is(n->at[at], name))
        at++;
    if (at == n->count && n->count < MOST_NAMES)
        n->at[n->count++] = name;
}

names dtypes_of(const records *all)
{
    names n = { 0 };
    for (int64_t i = 0; i < all->count; i++)
        add_name(&n, all->at[i].dtype);
    return n;
}

names names_of(const view *v)
{
    names n = { 0 };
    for (int64_t i = 0; i < v->all->count; i++) {
        const record *r = &v->all->at[i];
        record ours = *r;
        snprintf(ours.who, sizeof(ours.who), "vjp");
        if (!is(r->who, "vjp") && in_view(v, &ours))
            add_name(&n, r->name);
    }
    return n;
}
