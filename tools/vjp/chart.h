/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - lines and bars as SVG: for the page of `vjp bench` and for the plots of the docs. */
#ifndef VJP_CHART_H
#define VJP_CHART_H

#include <stdbool.h>
#include <stdio.h>

enum {
    CHART_DOTS = 32, /* a series of more points is a curve: without dots, and ticks of its own */
    CHART_POINTS = 288,
    CHART_SERIES = 8
};

typedef struct series {
    const char *name;
    bool dashed;
    int count;
    double x[CHART_POINTS], y[CHART_POINTS]; /* by rising x; a y of NaN is a gap */
} series;

typedef struct chart {
    const char *title, *unit; /* of x */
    const char *measure;      /* the unit of y; may be NULL */
    bool bytes;               /* x is shown as KiB, MiB and on a logarithmic scale */
    const double *marks;      /* vertical lines, ends with 0; may be NULL */
    int count;
    series series[CHART_SERIES];
} chart;

/* chart_style - the style sheet that charts expect. They take the colour of the text around. */
extern const char chart_style[];

/* chart_add - a point of the series of that name, which is made if it is new. */
void chart_add(chart *c, const char *name, bool dashed, double x, double y);

/* chart_write - lines over x for a page of HTML, if there is a line at all. *section is the heading
 * of the charts to come; the first one writes it and sets it to NULL. */
void chart_write(FILE *page, const chart *c, const char **section);

/* chart_file - the same as a file of its own, readable on a light page and on a dark one. */
void chart_file(FILE *file, const chart *c);

/* chart_bars - for `rows` labels, a bar for each of `whos`: values[row * nwhos + who], 0 if there
 * is none; a tick at ceilings[row]. */
void chart_bars(FILE *page, int rows, char labels[][64], int nwhos, char whos[][32],
                const double *values, const double *ceilings);

/* chart_color - a colour for number i. write_text - text with what HTML gives a meaning escaped. */
const char *chart_color(int i);
void write_text(FILE *page, const char *text);

#endif
