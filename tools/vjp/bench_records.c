/* SPDX-License-Identifier: Apache-2.0 */
/* bench_records.c - lines of JSON, as vjp bench writes them; see bench_report.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bench_report.h"

/* The text after "key": in the line, NULL if it is not there. */
static const char *value_of(const char *line, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *found = strstr(line, quoted);
    return found ? found + strlen(quoted) + strspn(found + strlen(quoted), " ") : NULL;
}

static bool read_word(const char *line, const char *key, char *word, size_t size)
{
    const char *value = value_of(line, key);
    if (!value || *value != '"')
        return false;
    size_t length = strcspn(++value, "\"\n");
    length = length < size - 1 ? length : size - 1;
    memcpy(word, value, length);
    word[length] = 0;
    return true;
}

static bool read_number(const char *line, const char *key, double *number)
{
    const char *value = value_of(line, key);
    char *end;
    if (!value)
        return false;
    *number = strtod(value, &end);
    return end > value;
}

static bool read_record(const char *line, record *r)
{
    double threads = 1, pairs = 0;
    memset(r, 0, sizeof(*r));
    read_number(line, "threads", &threads);
    read_number(line, "pairs", &pairs);
    r->threads = (int)threads;
    r->pairs = (int)pairs;
    read_number(line, "ceiling_gbps", &r->ceiling);
    read_number(line, "share", &r->share);
    read_number(line, "over_vjp", &r->over_vjp);
    read_word(line, "note", r->note, sizeof(r->note));
    read_word(line, "pages", r->pages, sizeof(r->pages));
    read_word(line, "device", r->device, sizeof(r->device));
    read_word(line, "isa", r->isa, sizeof(r->isa));
    read_word(line, "layout", r->layout, sizeof(r->layout));
    return read_word(line, "who", r->who, sizeof(r->who)) &&
           read_word(line, "op", r->op, sizeof(r->op)) &&
           read_word(line, read_word(line, "case", r->name, sizeof(r->name)) ? "case" : "op",
                     r->name, sizeof(r->name)) &&
           read_word(line, "dtype", r->dtype, sizeof(r->dtype)) &&
           read_word(line, "shape", r->shape, sizeof(r->shape)) &&
           ((read_number(line, "median_ns", &r->ns) && read_number(line, "gbps", &r->gbps)) ||
            r->note[0]);
}

static bool same_thing(const record *a, const record *b)
{
    return !strcmp(a->who, b->who) && !strcmp(a->op, b->op) && !strcmp(a->name, b->name) &&
           !strcmp(a->dtype, b->dtype) && !strcmp(a->shape, b->shape) &&
           !strcmp(a->layout, b->layout) && !strcmp(a->device, b->device) &&
           !strcmp(a->pages, b->pages) && !strcmp(a->isa, b->isa) && a->threads == b->threads;
}

bool records_has(const records *all, const record *wanted)
{
    for (int64_t i = 0; i < all->count; i++)
        if (same_thing(&all->at[i], wanted))
            return true;
    return false;
}

static void keep(records *all, const record *r)
{
    for (int64_t i = 0; i < all->count; i++)
        if (same_thing(&all->at[i], r)) {
            all->at[i] = *r;
            return;
        }
    record *grown = realloc(all->at, (size_t)(all->count + 1) * sizeof(*grown));
    if (!grown)
        broken("out of memory");
    all->at = grown;
    all->at[all->count++] = *r;
}

records records_read(FILE *lines)
{
    char line[1024];
    records all = { .at = NULL };
    record r;
    rewind(lines);
    for (int64_t number = 1; fgets(line, sizeof(line), lines); number++) {
        size_t length = strcspn(line, "\n");
        bool whole = length > 0 && line[length - 1] == '}'; /* not cut off as its writer ended */
        all.cut = line[length] != '\n' && feof(lines);
        if (all.cut)
            break;
        all.end = ftell(lines);
        if (whole && read_record(line, &r))
            keep(&all, &r);
        else if (!all.bad)
            all.bad = number;
    }
    return all;
}
