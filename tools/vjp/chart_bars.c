/* SPDX-License-Identifier: Apache-2.0 */
/* chart_bars.c - bars as SVG; see chart.h.
 *
 * The columns of labels, and of figures of the longest bars, are as wide as the longest one needs.
 * A figure comes after its bar and the mark, so neither runs through it. */
#include <math.h>

#include "chart.h"

enum {
    MOST_LABEL = 300,
    MOST_FIGURE = 260,
    PAD = 8,
    BAR = 13,
    GAP = 7,
    LEGEND = 24,
    LEGEND_KEY = 15,
    FIGURE_SIZE = 160
};

/* Where the columns are, and the pixels of a unit. */
typedef struct columns {
    double bars, end, scale;
} columns;

static bool has_bar(const bars *b, int at)
{
    return b->values[at] > 0 || (b->notes && b->notes[at]);
}

/* "36.76 GB/s (96 %), differs from vjp" */
static void figure_of(const bars *b, int at, char text[FIGURE_SIZE])
{
    const char *note = b->notes && b->notes[at] ? b->notes[at] : NULL;
    char share[32] = "";
    if (b->shares && b->shares[at] > 0)
        snprintf(share, sizeof(share), " (%.0f %%)", 100 * b->shares[at]);
    snprintf(text, FIGURE_SIZE, "%.4g%s%s%s%s", b->values[at], b->unit, share, note ? ", " : "",
             note ? note : "");
}

static double longest(const bars *b)
{
    double most = 0;
    for (int i = 0; i < b->rows * b->nkinds; i++)
        most = fmax(most, fmax(b->values[i], b->marks[i / b->nkinds]));
    return most;
}

static columns columns_of(const bars *b)
{
    double label = 0, figure = 0;
    for (int row = 0; row < b->rows; row++)
        label = fmax(label, text_width(b->labels[row]));
    for (int at = 0; at < b->rows * b->nkinds; at++) {
        char text[FIGURE_SIZE];
        figure_of(b, at, text);
        figure = b->values[at] > 0 ? fmax(figure, text_width(text)) : figure;
    }
    columns c = { fmin(label, MOST_LABEL) + PAD, CHART_WIDTH - fmin(figure, MOST_FIGURE) - PAD, 0 };
    c.scale = (c.end - c.bars) / longest(b);
    return c;
}

/* Kinds that a row does not have take no place in it. */
static int row_height(const bars *b, int row)
{
    int count = 0;
    for (int kind = 0; kind < b->nkinds; kind++)
        count += has_bar(b, row * b->nkinds + kind);
    return count * BAR + GAP;
}

static int height_of(const bars *b)
{
    int height = PAD + (b->nkinds > 1 ? LEGEND : 0);
    for (int row = 0; row < b->rows; row++)
        height += row_height(b, row);
    return height;
}

/* A bar, its mark and its figure; where there is no value, its note alone. */
static void write_bar(FILE *page, const bars *b, int at, int y, const columns *c)
{
    double value = b->values[at], mark = c->bars + b->marks[at / b->nkinds] * c->scale;
    double end = fmin(c->bars + value * c->scale, c->end), figure = fmax(end, mark) + PAD;
    char text[FIGURE_SIZE];
    if (value <= 0) {
        fprintf(page, "<text x='%.1f' y='%d'>", c->bars + PAD, y + BAR - 3);
        write_fitted(page, b->notes[at], CHART_WIDTH - c->bars - PAD);
        fprintf(page, "</text>\n");
        return;
    }
    fprintf(page, "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'/>", c->bars, y,
            end - c->bars, BAR - 2, chart_color(at % b->nkinds));
    if (mark > c->bars)
        fprintf(page, "<line class='mark' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>", mark, mark, y - 1,
                y + BAR - 1);
    figure_of(b, at, text);
    fprintf(page, "<text x='%.1f' y='%d'>", figure, y + BAR - 3);
    write_fitted(page, text, CHART_WIDTH - figure);
    fprintf(page, "</text>\n");
}

static void write_row(FILE *page, const bars *b, int row, int y, const columns *c)
{
    fprintf(page, "<text x='%.1f' y='%d' text-anchor='end'>", c->bars - PAD, y + BAR - 3);
    write_fitted(page, b->labels[row], c->bars - PAD);
    fprintf(page, "</text>\n");
    for (int kind = 0; kind < b->nkinds; kind++) {
        int at = row * b->nkinds + kind;
        if (!has_bar(b, at))
            continue;
        write_bar(page, b, at, y, c);
        y += BAR;
    }
}

static void write_legend(FILE *page, const bars *b, int y, double x)
{
    for (int kind = 0; kind < b->nkinds; kind++) {
        fprintf(page,
                "<rect x='%.1f' y='%d' width='10' height='10' fill='%s'/><text x='%.1f' y='%d'>", x,
                y, chart_color(kind), x + LEGEND_KEY, y + 9);
        write_text(page, b->kinds[kind]);
        fprintf(page, "</text>\n");
        x += LEGEND_KEY + text_width(b->kinds[kind]) + 2 * PAD;
    }
}

static void write_all(FILE *page, const bars *b)
{
    columns c = columns_of(b);
    int y = PAD / 2;
    for (int row = 0; row < b->rows; row++) {
        write_row(page, b, row, y, &c);
        y += row_height(b, row);
    }
    if (b->nkinds > 1)
        write_legend(page, b, y + GAP, c.bars);
    fprintf(page, "</svg>\n");
}

void chart_bars(FILE *page, const bars *b)
{
    chart_begin(page, height_of(b));
    write_all(page, b);
    chart_end(page);
}

