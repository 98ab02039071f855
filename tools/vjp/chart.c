/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c - lines and bars as SVG; see chart.h. */
#include <math.h>
#include <string.h>

#include "chart.h"

enum {
    WIDTH = CHART_WIDTH,
    HEIGHT = 260,
    LEFT = 52,
    RIGHT = 130,      /* at least, for the legend */
    FILE_RIGHT = 12,
    KEY = 20,         /* a piece of line in the legend */
    KEY_GAP = 12,
    LEGEND_STEP = 18,
    TOP = 14,
    TITLE = 24,       /* above the top, where a chart is a file of its own */
    NOTE = 16,
    FILE_LEGEND = 18,
    BOTTOM = 34,
    TICKS_APART = 54  /* at least, on a logarithmic scale */
};

const char chart_style[] =
    "svg text{font-size:11px;fill:currentColor}\n"
    ".grid{stroke:#8885;stroke-width:1}.zero{stroke:#888}.mark{stroke:currentColor;"
    "stroke-dasharray:2 3;stroke-width:1}text.mark{stroke:none;opacity:.7}\n";

/* ---- lines -------------------------------------------------------------------------------- */

void chart_add(chart *c, const char *name, bool dashed, double x, double y)
{
    int i = 0, color = dashed ? -1 : 0;
    for (; i < c->count; i++) {
        const series *s = &c->series[i];
        bool same = !strcmp(s->name, name);
        if (same && s->dashed == dashed)
            break;
        color = !dashed ? color + !s->dashed : same ? s->color : color;
    }
    if (i == CHART_SERIES || (i < c->count && c->series[i].count == CHART_POINTS))
        return;
    series *s = &c->series[i];
    if (i == c->count) {
        c->count++;
        *s = (series){ .name = name, .dashed = dashed, .color = color };
    }
    int at = s->count++;
    for (; at > 0 && s->x[at - 1] > x; at--) {
        s->x[at] = s->x[at - 1];
        s->y[at] = s->y[at - 1];
    }
    s->x[at] = x;
    s->y[at] = isfinite(y) ? y : NAN;
}

/* What the axes span, and where a point goes. */
typedef struct frame {
    bool logarithmic;
    double low, high, bottom, top;
    double right; /* where the plot ends */
    bool is_file; /* the legend is above it, not beside it */
} frame;

static double legend_width(const chart *c)
{
    double widest = c->dashes ? text_width(c->dashes) : 0;
    for (int i = 0; i < c->count; i++)
        widest = fmax(widest, text_width(c->series[i].name));
    return fmax(RIGHT, 2 * KEY_GAP + KEY + widest);
}

static frame frame_of(const chart *c, bool is_file)
{
    double right = is_file ? CHART_FILE_WIDTH - FILE_RIGHT : WIDTH - legend_width(c);
    frame f = { c->scale != CHART_LINEAR, INFINITY, -INFINITY, 0, 0, right, is_file };
    for (int i = 0; i < c->count; i++)
        for (int p = 0; p < c->series[i].count; p++) {
            f.low = fmin(f.low, c->series[i].x[p]);
            f.high = fmax(f.high, c->series[i].x[p]);
            f.bottom = fmin(f.bottom, c->series[i].y[p]);
            f.top = fmax(f.top, c->series[i].y[p]);
        }
    double margin = (f.top - f.bottom) * 0.05;
    f.top += margin;
    f.bottom -= f.bottom < 0 ? margin : 0;
    return f;
}

static double place_x(const frame *f, double x)
{
    double share = f->logarithmic ? log2(x / f->low) / log2(f->high / f->low)
                                  : (x - f->low) / (f->high - f->low);
    return LEFT + share * (f->right - LEFT);
}

static double place_y(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->bottom) / (f->top - f->bottom) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, four to eight of them in the span. */
static double step_of(double span)
{
    double step = pow(10, floor(log10(span / 4)));
    while (span / step > 8)
        step *= span / step > 20 ? 5 : 2;
    return step;
}

static void write_size(FILE *page, chart_scale scale, double size)
{
    static const char *const units[][4] = { [CHART_BYTES] = { " B", " KiB", " MiB", " GiB" },
                                            [CHART_ELEMENTS] = { "", " Ki", " Mi", " Gi" } };
    int unit = 0;
    for (; size >= 1024 && unit < 3; unit++)
        size /= 1024;
    fprintf(page, "%.3g%s", size, units[scale][unit]);
}

static void write_tick(FILE *page, const chart *c, const frame *f, double x)
{
    double at = place_x(f, x);
    fprintf(page, "<text x='%.1f' y='%d' text-anchor='middle'>", at, HEIGHT - BOTTOM + 15);
    if (c->scale != CHART_LINEAR)
        write_size(page, c->scale, x);
    else
        fprintf(page, "%g", x);
    fprintf(page, "</text>\n");
}

/* At the points of the first series, or at round numbers if those are too many. */
static void write_ticks(FILE *page, const chart *c, const frame *f)
{
    const series *first = &c->series[0];
    double step = step_of(f->high - f->low);
    double last = -INFINITY;
    if (first->count <= CHART_DOTS)
        for (int p = 0; p < first->count; p++) {
            if (f->logarithmic && place_x(f, first->x[p]) < last + TICKS_APART)
                continue;
            last = place_x(f, first->x[p]);
            write_tick(page, c, f, first->x[p]);
        }
    else
        for (double i = ceil(f->low / step); i * step <= f->high; i++)
            write_tick(page, c, f, i * step + 0.0); /* not -0 */
}

static void write_grid(FILE *page, const frame *f)
{
    double step = step_of(f->top - f->bottom);
    for (double i = ceil(f->bottom / step); i * step <= f->top; i++) {
        double y = i * step + 0.0, at = place_y(f, y);
        fprintf(page,
                "<line class='grid%s' x1='%d' x2='%.1f' y1='%.1f' y2='%.1f'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
                i == 0 ? " zero" : "", LEFT, f->right, at, at, LEFT - 6, at + 4, y);
    }
}

static void write_axes(FILE *page, const chart *c, const frame *f)
{
    write_grid(page, f);
    write_ticks(page, c, f);
    for (const double *mark = c->marks; mark && *mark; mark++)
        if (*mark > f->low && *mark < f->high) {
            double x = place_x(f, *mark);
            fprintf(page,
                    "<line class='mark' x1='%.1f' x2='%.1f' y1='%d' y2='%d'/>"
                    "<text class='mark' x='%.1f' y='%d'>",
                    x, x, TOP, HEIGHT - BOTTOM, x + 3, TOP + 8);
            write_size(page, CHART_BYTES, *mark);
            fprintf(page, " cache</text>\n");
        }
    fprintf(page, "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n", (LEFT + f->right) / 2,
            HEIGHT - 4, c->unit);
    if (c->measure)
        fprintf(page, "<text x='%d' y='%d'>%s</text>\n", 2, TOP - 4, c->measure);
}

/* The farthest point that a straight line from `from` reaches while it keeps within a tenth of a
 * pixel of all points between, and stays on this side of a gap. */
static int straight_to(const series *s, int from, const frame *f)
{
    double x = place_x(f, s->x[from]), y = place_y(f, s->y[from]);
    int to = from + 1;
    for (int next = to; next < s->count && !isnan(s->y[next]); next++) {
        double slope = (place_y(f, s->y[next]) - y) / (place_x(f, s->x[next]) - x);
        for (int p = from + 1; p < next; p++)
            if (fabs(y + slope * (place_x(f, s->x[p]) - x) - place_y(f, s->y[p])) > 0.1)
                return to;
        to = next;
    }
    return to;
}

static const char *line_color(const series *s)
{
    return s->color < 0 ? "currentColor" : chart_color(s->color);
}

/* How the line is broken: where colours come round again it is, though not as a dashed one is. */
static const char *line_dashes(const series *s)
{
    return s->dashed                   ? " stroke-dasharray='5 4'"
           : s->color >= CHART_COLORS ? " stroke-dasharray='10 3 2 3'"
                                       : "";
}

static void write_line(FILE *page, const series *s, const frame *f)
{
    const char *command = "M"; /* starts a piece of the line */
    fprintf(page, "<path fill='none' stroke='%s' stroke-width='2'%s d='", line_color(s),
            line_dashes(s));
    for (int p = 0; p < s->count;) {
        bool gap = isnan(s->y[p]);
        if (!gap)
            fprintf(page, "%s%.1f,%.1f", command, place_x(f, s->x[p]), place_y(f, s->y[p]));
        command = gap ? "M" : " ";
        p = gap ? p + 1 : straight_to(s, p, f);
    }
    fprintf(page, "'/>\n");
}

/* A mark of a shape of its own, so that lines differ by more than their colours. The element
 * is left open. */
static void write_marker(FILE *page, const series *s, double x, double y)
{
    static const char *const shapes[] = {
        "m-3,0a3,3 0 1 0 6,0a3,3 0 1 0 -6,0z", "m-2.8,-2.8h5.6v5.6h-5.6z", "m0,-4l3.7,6.5h-7.4z",
        "m0,-4.2l4.2,4.2l-4.2,4.2l-4.2,-4.2z", "m0,4l3.7,-6.5h-7.4z",
    };
    fprintf(page, "<path fill='%s' d='M%.1f,%.1f%s'>", chart_color(s->color), x, y,
            shapes[s->color % (int)(sizeof(shapes) / sizeof(shapes[0]))]);
}

static bool has_markers(const series *s)
{
    return !s->dashed && s->count <= CHART_DOTS;
}

static void write_series(FILE *page, const chart *c, const series *s, const frame *f)
{
    write_line(page, s, f);
    for (int p = 0; p < s->count && has_markers(s); p++) {
        if (isnan(s->y[p]))
            continue;
        write_marker(page, s, place_x(f, s->x[p]), place_y(f, s->y[p]));
        fprintf(page, "<title>%.4g%s%s</title></path>\n", s->y[p], c->measure ? " " : "",
                c->measure ? c->measure : "");
    }
}

/* ---- the legend --------------------------------------------------------------------------- */

static void write_key(FILE *page, double x, int y, const series *s, const char *name)
{
    fprintf(page, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='%s' stroke-width='2'%s/>", x,
            x + KEY, y - 4, y - 4, name == s->name ? line_color(s) : "currentColor",
            line_dashes(s));
    if (has_markers(s)) {
        write_marker(page, s, x + KEY / 2.0, y - 4);
        fprintf(page, "</path>");
    }
    fprintf(page, "<text x='%.1f' y='%d'>", x + KEY + 6, y);
    write_text(page, name);
    fprintf(page, "</text>\n");
}

/* One below the other, or side by side. Dashed lines in the colours of others are all the same
 * thing, and have one key together. */
static void write_legend(FILE *page, const chart *c, const frame *f)
{
    double x = f->is_file ? KEY_GAP : f->right + KEY_GAP;
    int y = f->is_file ? -4 : TOP + 12;
    const series *twin = NULL;
    for (int i = 0; i < c->count; i++) {
        const series *s = &c->series[i];
        if (s->dashed && s->color >= 0) {
            twin = s;
            continue;
        }
        write_key(page, x, y, s, s->name);
        if (f->is_file)
            x += KEY + KEY_GAP + text_width(s->name);
        else
            y += LEGEND_STEP;
    }
    if (twin)
        write_key(page, x, y, twin, c->dashes);
}

bool chart_has_line(const chart *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->series[i].count > 1 && c->series[i].x[0] < c->series[i].x[c->series[i].count - 1])
            return true;
    return false;
}

static void write_lines(FILE *page, const chart *c, bool is_file)
{
    frame f = frame_of(c, is_file);
    write_axes(page, c, &f);
    for (int i = 0; i < c->count; i++)
        write_series(page, c, &c->series[i], &f);
    write_legend(page, c, &f);
    fprintf(page, "</svg>\n");
}

void chart_write(FILE *page, const chart *c, const char **section)
{
    if (!chart_has_line(c))
        return;
    if (*section)
        fprintf(page, "<h2>%s</h2>\n", *section);
    *section = NULL;
    fprintf(page, "<h3>");
    write_text(page, c->title);
    fprintf(page, "</h3>\n");
    chart_begin(page, HEIGHT);
    write_lines(page, c, false);
    chart_end(page);
}

void chart_begin(FILE *page, int height)
{
    fprintf(page, "<div class='chart'><svg viewBox='0 0 %d %d' role='img'>\n", WIDTH, height);
}

void chart_end(FILE *page)
{
    fprintf(page, "</div>\n");
}

/* A line of text above the plot. */
static void write_head(FILE *file, const char *class, int y, const char *text)
{
    fprintf(file, "<text class='%s' x='%d' y='%d'>", class, KEY_GAP, y);
    write_text(file, text);
    fprintf(file, "</text>\n");
}

/* An image cannot see the page it is on, and so brings its background. */
void chart_file(FILE *file, const chart *c)
{
    int head = TITLE + (c->note ? NOTE : 0) + FILE_LEGEND, height = HEIGHT + head;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 %d %d %d' "
            "role='img' font-family='system-ui,sans-serif'>\n<title>",
            CHART_FILE_WIDTH, height, -head, CHART_FILE_WIDTH, height);
    write_text(file, c->title);
    fprintf(file,
            "</title>\n<style>\n%s"
            "svg{color:#1a1d21}.paper{fill:#fff}svg .title{font-size:14px}\n"
            "@media(prefers-color-scheme:dark){svg{color:#e4e6e9}.paper{fill:#1e2129}}\n"
            "</style>\n<rect class='paper' y='%d' width='%d' height='%d'/>\n",
            chart_style, -head, CHART_FILE_WIDTH, height);
    write_head(file, "title", TITLE - 7 - head, c->title);
    if (c->note)
        write_head(file, "note", -FILE_LEGEND - 5, c->note);
    write_lines(file, c, true);
}
