/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.h - lines of JSON, read back, and a page of charts made of them. */
#ifndef VJP_BENCH_REPORT_H
#define VJP_BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One line: who computed what, where, and how fast. */
typedef struct record {
    char who[32], op[48], name[64], dtype[8], shape[48], layout[32], device[16];
    int threads;
    double ns, gbps, ceiling;
} record;

typedef struct records {
    record *at;
    int64_t count;
} records;

/* records_read - every line of a file that has at least who, op, dtype, shape, median_ns and gbps.
 * What was measured more than once counts as it was last. */
records records_read(FILE *lines);

/* report_write - a page that needs nothing else: bars for each case, bandwidth over size with the
 * caches marked (bytes, ends with 0), and over threads where there is more than one count. */
void report_write(FILE *page, const records *all, const double *caches);

/* ---- bench_chart.c ------------------------------------------------------------------------ */

enum {
    CHART_POINTS = 32,
    CHART_SERIES = 8
};

typedef struct series {
    const char *name;
    bool dashed;
    int count;
    double x[CHART_POINTS], y[CHART_POINTS]; /* by rising x */
} series;

typedef struct chart {
    const char *title, *unit; /* of x */
    bool bytes;               /* x is shown as KiB, MiB and on a logarithmic scale */
    const double *marks;      /* vertical lines, ends with 0; may be NULL */
    int count;
    series series[CHART_SERIES];
} chart;

/* chart_add - a point of the series of that name, which is made if it is new. */
void chart_add(chart *c, const char *name, bool dashed, double x, double y);

/* chart_write - lines of GB/s over x, as SVG, if there is a line at all. *section is the heading
 * of the charts to come; the first one writes it and sets it to NULL. */
void chart_write(FILE *page, const chart *c, const char **section);

/* chart_bars - for `rows` labels, a bar for each of `whos`: values[row * nwhos + who], 0 if there
 * is none; a tick at ceilings[row]. */
void chart_bars(FILE *page, int rows, char labels[][64], int nwhos, char whos[][32],
                const double *values, const double *ceilings);

/* chart_color - a colour for number i. write_text - text with what HTML gives a meaning escaped. */
const char *chart_color(int i);
void write_text(FILE *page, const char *text);

#endif
