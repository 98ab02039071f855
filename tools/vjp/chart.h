/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - lines and bars as SVG: for the page of `vjp bench` and for the plots of the docs. */
#ifndef VJP_CHART_H
#define VJP_CHART_H

#include <stdbool.h>
#include <stdio.h>

enum {
    CHART_WIDTH = 720,
    CHART_FILE_WIDTH = 400, /* of a file of its own: a phone's, where its text can be read */
    CHART_DOTS = 32, /* a series of more points is a curve: without dots, and ticks of its own */
    CHART_POINTS = 288,
    CHART_SERIES = 12,
    CHART_LABEL = 128,
    CHART_COLORS = 7
};

typedef struct series {
    const char *name;
    bool dashed;
    int color; /* its number; -1: that of the text */
    int count;
    double x[CHART_POINTS], y[CHART_POINTS]; /* by rising x; a y of NaN is a gap */
} series;

/* How x is shown; bytes and elements on a logarithmic scale, as KiB, MiB or as Ki, Mi. */
typedef enum chart_scale {
    CHART_LINEAR,
    CHART_BYTES,
    CHART_ELEMENTS
} chart_scale;

typedef struct chart {
    const char *title, *unit; /* of x */
    const char *note;         /* below the title of a file; may be NULL */
    const char *measure;      /* the unit of y; may be NULL */
    chart_scale scale;
    const double *marks;      /* vertical lines, ends with 0; may be NULL */
    const char *dashes;       /* what the dashed lines of other series' names are; may be NULL */
    int count;
    series series[CHART_SERIES];
} chart;

/* chart_style - the style sheet that charts expect. They take the colour of the text around. */
extern const char chart_style[];

/* chart_add - a point of the series of that name, which is made if it is new. A dashed one has the
 * colour of the other one of its name, if that is there already. A y that is not finite is a
 * gap. */
void chart_add(chart *c, const char *name, bool dashed, double x, double y);

/* chart_has_line - whether there is more than single points. */
bool chart_has_line(const chart *c);

/* chart_write - lines over x for a page of HTML, if there is a line at all. *section is the heading
 * of the charts to come; the first one writes it and sets it to NULL. */
void chart_write(FILE *page, const chart *c, const char **section);

/* chart_begin, chart_end - what is around each of those: a div of class "chart". */
void chart_begin(FILE *page, int height);
void chart_end(FILE *page);

/* chart_file - the same as a file of its own, readable on a light page and on a dark one, with the
 * legend above the lines. */
void chart_file(FILE *file, const chart *c);

/* ---- chart_bars.c ------------------------------------------------------------------------- */

/* For each of `rows` labels, a bar for each of `kinds`. */
typedef struct bars {
    int rows, nkinds;
    char (*labels)[CHART_LABEL];
    char (*kinds)[CHART_LABEL];
    const double *values;     /* values[row * nkinds + kind], 0 if there is none */
    const char *const *notes; /* text beside a bar, or in its place; may have NULLs */
    const double *shares;     /* as percentages beside the values, 0 for none; may be NULL */
    const double *marks;      /* marks[row]: a dotted line there, 0 for none */
    const char *unit;         /* of the values */
} bars;

/* chart_bars - for a page of HTML. */
void chart_bars(FILE *page, const bars *b);

/* ---- chart_text.c ------------------------------------------------------------------------- */

/* chart_color - a colour for number i; they repeat after CHART_COLORS.
 * write_text - text with what HTML gives a meaning escaped. text_width - the pixels that it takes,
 * or a few less. write_fitted - as much of it as there is room for, the rest as a tool tip. */
const char *chart_color(int i);
void write_text(FILE *page, const char *text);
double text_width(const char *text);
void write_fitted(FILE *page, const char *text, double room);

#endif
