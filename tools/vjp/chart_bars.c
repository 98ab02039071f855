/* SPDX-License-Identifier: Apache-2.0 */
/* chart_bars.c - bars as SVG; see chart.h. */
#include <math.h>

#include "chart.h"

enum {
    LABEL = 210,
    RIGHT = 130, /* for the figures beside the bars */
    BAR = 13,
    GAP = 7,
    LEGEND = 24,
    LEGEND_STEP = 120
};

static int height_of(const bars *b)
{
    return b->rows * (b->nkinds * BAR + GAP) + 8 + (b->nkinds > 1 ? LEGEND : 0);
}

static double longest(const bars *b)
{
    double most = 0;
    for (int i = 0; i < b->rows * b->nkinds; i++)
        most = fmax(most, fmax(b->values[i], b->marks[i / b->nkinds]));
    return b->most > 0 ? fmin(most, b->most) : most;
}

/* A bar and its figure; where there is no value, its note alone. */
static void write_bar(FILE *page, const bars *b, int at, int y, double scale)
{
    double value = b->values[at], mark = b->marks[at / b->nkinds];
    double width = fmin(value * scale, CHART_WIDTH - LABEL - RIGHT);
    const char *note = b->notes ? b->notes[at] : NULL;
    if (value > 0)
        fprintf(page, "<rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>", LABEL, y, width,
                BAR - 2, chart_color(at % b->nkinds));
    fprintf(page, "<text x='%.1f' y='%d'>", LABEL + width + 5, y + BAR - 3);
    if (value > 0)
        fprintf(page, "%.4g%s", value, b->unit);
    if (value > 0 && b->shares && mark > 0)
        fprintf(page, " (%.0f %%)", 100 * value / mark);
    if (note) {
        fputs(value > 0 ? ", " : "", page);
        write_text(page, note);
    }
    fprintf(page, "</text>\n");
}

static void write_row(FILE *page, const bars *b, int row, int y, double scale)
{
    double tick = LABEL + b->marks[row] * scale;
    fprintf(page, "<text x='%d' y='%d' text-anchor='end'>", LABEL - 8, y + BAR - 3);
    write_text(page, b->labels[row]);
    fprintf(page, "</text>\n");
    for (int kind = 0; kind < b->nkinds; kind++) {
        int at = row * b->nkinds + kind;
        if (b->values[at] > 0 || (b->notes && b->notes[at]))
            write_bar(page, b, at, y + kind * BAR, scale);
    }
    if (b->marks[row] > 0)
        fprintf(page, "<line class='mark' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>\n", tick, tick,
                y - 1, y + b->nkinds * BAR);
}

static void write_legend(FILE *page, const bars *b, int y)
{
    for (int kind = 0; kind < b->nkinds; kind++) {
        int x = LABEL + kind * LEGEND_STEP;
        fprintf(page, "<rect x='%d' y='%d' width='10' height='10' fill='%s'/><text x='%d' y='%d'>",
                x, y, chart_color(kind), x + 15, y + 9);
        write_text(page, b->kinds[kind]);
        fprintf(page, "</text>\n");
    }
}

static void write_all(FILE *page, const bars *b)
{
    double scale = (CHART_WIDTH - LABEL - RIGHT) / longest(b);
    for (int row = 0; row < b->rows; row++)
        write_row(page, b, row, 4 + row * (b->nkinds * BAR + GAP), scale);
    if (b->nkinds > 1)
        write_legend(page, b, height_of(b) - LEGEND + 6);
    fprintf(page, "</svg>\n");
}

void chart_bars(FILE *page, const bars *b)
{
    fprintf(page, "<svg viewBox='0 0 %d %d' role='img'>\n", CHART_WIDTH, height_of(b));
    write_all(page, b);
}

void chart_bars_file(FILE *file, const char *title, const bars *b)
{
    chart_file_begin(file, title, height_of(b));
    write_all(file, b);
}
