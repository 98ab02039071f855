/* SPDX-License-Identifier: Apache-2.0 */
/* bench_html.c - a page of charts; see bench_report.h. */
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"
#include "chart.h"

enum {
    MOST_ROWS = 256,
    MOST_WHOS = 8
};

static const char head[] =
    "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
    "<meta name='viewport' content='width=device-width'><title>vjp bench</title>\n<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2em auto;padding:0 1em;"
    "color:#1a1d21;background:#fff}\n"
    "svg{width:100%;min-width:640px;height:auto;display:block}\n"
    ".chart,.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}td,th{padding:1px "
    "9px;text-align:right;white-space:nowrap}"
    "td:nth-child(-n+6),th:nth-child(-n+6){text-align:left}\n"
    "@media(prefers-color-scheme:dark){body{color:#e4e6e9;background:#16181c}}\n";

static const char intro[] =
    "</style></head><body>\n<h1>vjp bench</h1>\n"
    "<p>Bytes are the least that must move: each input read once, each output written once. The "
    "ceiling, two reads and one write measured in turns with the operator, is the dotted line, and "
    "in charts of lines the dashed one; the percentage is the share of it, the median over the "
    "turns.</p>\n";

/* ---- bars --------------------------------------------------------------------------------- */

/* Records that belong in one picture: a case on a device with one number of threads and kind of
 * memory. */
static bool together(const record *a, const record *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->device, b->device) &&
           a->threads == b->threads && !strcmp(a->pages, b->pages);
}

static bool is_first(const records *all, int64_t index,
                     bool (*same)(const record *, const record *))
{
    for (int64_t i = 0; i < index; i++)
        if (same(&all->at[i], &all->at[index]))
            return false;
    return true;
}

/* The place of a text in a list, where it is added if it is new; -1 if the list is full. */
static int place_in(char *list, size_t size, int *count, int most, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(list + (size_t)i * size, text))
            return i;
    if (*count == most)
        return -1;
    snprintf(list + (size_t)*count * size, size, "%s", text);
    return (*count)++;
}

static void write_heading(FILE *page, const record *r)
{
    fprintf(page, "<h3>");
    write_text(page, r->name);
    fprintf(page, ", %s", r->device);
    if (r->threads > 1)
        fprintf(page, ", %d threads", r->threads);
    if (!strcmp(r->pages, "ordinary"))
        fprintf(page, ", ordinary pages");
    fprintf(page, "</h3>\n");
}

static void write_bars(FILE *page, const records *all, int64_t first)
{
    char labels[MOST_ROWS][CHART_LABEL], whos[MOST_WHOS][CHART_LABEL], label[CHART_LABEL];
    double values[MOST_ROWS][MOST_WHOS] = { { 0 } }, shares[MOST_ROWS][MOST_WHOS] = { { 0 } };
    const char *notes[MOST_ROWS][MOST_WHOS] = { { NULL } }, *packed_notes[MOST_ROWS * MOST_WHOS];
    double packed[MOST_ROWS * MOST_WHOS], packed_shares[MOST_ROWS * MOST_WHOS];
    double ceilings[MOST_ROWS] = { 0 };
    int rows = 0, nwhos = 0;
    place_in(whos[0], sizeof(whos[0]), &nwhos, MOST_WHOS, "vjp"); /* the first colour */
    for (int64_t i = first; i < all->count; i++) {
        const record *r = &all->at[i];
        if (!together(r, &all->at[first]))
            continue;
        bool plain = !r->layout[0] || !strcmp(r->layout, "plain");
        snprintf(label, sizeof(label), "%.60s %s%s%s", r->shape, r->dtype, plain ? "" : ", ",
                 plain ? "" : r->layout);
        int row = place_in(labels[0], sizeof(labels[0]), &rows, MOST_ROWS, label);
        int who = place_in(whos[0], sizeof(whos[0]), &nwhos, MOST_WHOS, r->who);
        if (row < 0 || who < 0)
            continue;
        values[row][who] = r->gbps;
        shares[row][who] = r->share;
        notes[row][who] = r->note[0] ? r->note : NULL;
        ceilings[row] = r->ceiling > ceilings[row] ? r->ceiling : ceilings[row];
    }
    for (int i = 0; i < rows * nwhos; i++) {
        packed[i] = values[i / nwhos][i % nwhos];
        packed_shares[i] = shares[i / nwhos][i % nwhos];
        packed_notes[i] = notes[i / nwhos][i % nwhos];
    }
    write_heading(page, &all->at[first]);
    chart_bars(page, &(bars){ .rows = rows, .nkinds = nwhos, .labels = labels, .kinds = whos,
                              .values = packed, .notes = packed_notes,
                              .shares = packed_shares, .marks = ceilings, .unit = " GB/s" });
}

/* ---- lines -------------------------------------------------------------------------------- */

static void write_sizes(FILE *page, const records *all, int64_t first, const double *caches,
                        const char **section)
{
    const record *of = &all->at[first];
    chart c = { .title = of->name, .unit = "bytes read and written", .measure = "GB/s",
                .scale = CHART_BYTES, .marks = caches, .dashes = "ceiling" };
    for (int64_t i = first; i < all->count; i++) {
        const record *r = &all->at[i];
        if (!together(r, of) || strcmp(r->who, "vjp") != 0 || strcmp(r->layout, of->layout) != 0)
            continue;
        chart_add(&c, r->dtype, false, r->gbps * r->ns, r->gbps);
        if (r->ceiling > 0)
            chart_add(&c, r->dtype, true, r->gbps * r->ns, r->ceiling);
    }
    chart_write(page, &c, section);
}

/* The same thing on any number of threads. */
static bool same_but_threads(const record *a, const record *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->device, b->device) &&
           !strcmp(a->who, b->who) && !strcmp(a->shape, b->shape) &&
           !strcmp(a->layout, b->layout) && !strcmp(a->pages, b->pages);
}

static void write_threads(FILE *page, const records *all, int64_t first, const char **section)
{
    const record *of = &all->at[first];
    char title[256];
    snprintf(title, sizeof(title), "%s, %s, %s", of->name, of->shape, of->who);
    chart c = { .title = title, .unit = "threads", .measure = "GB/s", .dashes = "ceiling" };
    for (int64_t i = first; i < all->count; i++) {
        const record *r = &all->at[i];
        if (!same_but_threads(r, of))
            continue;
        chart_add(&c, r->dtype, false, r->threads, r->gbps);
        if (r->ceiling > 0)
            chart_add(&c, r->dtype, true, r->threads, r->ceiling);
    }
    chart_write(page, &c, section);
}

/* ---- the page ----------------------------------------------------------------------------- */

static void write_table(FILE *page, const records *all)
{
    fprintf(page, "<h2>All figures</h2>\n<div "
                  "class='wide'><table><tr><th>who<th>case<th>dtype<th>shape<th>layout"
                  "<th>device<th>threads<th>us<th>GB/s<th>ceiling<th>share"
                  "<th>time over vjp's<th></tr>\n");
    for (int64_t i = 0; i < all->count; i++) {
        const record *r = &all->at[i];
        const char *const words[] = { r->who, r->name, r->dtype, r->shape, r->layout, r->device };
        fprintf(page, "<tr>");
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
            fprintf(page, "<td>");
            write_text(page, words[w]);
        }
        fprintf(page, "<td>%d", r->threads);
        if (r->ns > 0)
            fprintf(page, "<td>%.2f<td>%.1f<td>%.1f<td>%.0f %%<td>", r->ns / 1e3, r->gbps,
                    r->ceiling, 100 * r->share);
        else
            fprintf(page, "<td><td><td><td><td>");
        if (r->over_vjp > 0)
            fprintf(page, "%.2f", r->over_vjp);
        fprintf(page, "<td>");
        write_text(page, r->note);
        fprintf(page, "</tr>\n");
    }
    fprintf(page, "</table></div>\n");
}

void report_write(FILE *page, const records *all, const double *caches)
{
    const char *sizes = "Bandwidth over size", *threads = "Bandwidth over threads";
    fprintf(page, "%s%s%s", head, chart_style, intro);
    fprintf(page, "<h2>Bandwidth of each case</h2>\n");
    for (int64_t i = 0; i < all->count; i++)
        if (is_first(all, i, together))
            write_bars(page, all, i);
    for (int64_t i = 0; i < all->count; i++)
        if (is_first(all, i, together))
            write_sizes(page, all, i, caches, &sizes);
    for (int64_t i = 0; i < all->count; i++)
        if (is_first(all, i, same_but_threads))
            write_threads(page, all, i, &threads);
    write_table(page, all);
    fprintf(page, "</body></html>\n");
}
