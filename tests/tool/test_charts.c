/* SPDX-License-Identifier: Apache-2.0 */
/* test_charts.c - the charts of `vjp bench --html` and of the docs: nothing is cut off or drawn
 * over, figures are those of the lines, and colours can be distinguished. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"
#include "chart.h"
#include "plot.h"
#include "unit.h"

enum {
    LETTER = 6 /* pixels of a letter, on the average of a wide font */
};

/* What was written to the file, which is closed; to be freed. */
static char *text_of(FILE *file)
{
    size_t size = (size_t)ftell(file);
    char *text = unit_malloc(size + 1);
    rewind(file);
    assert_int_equal(fread(text, 1, size, file), size);
    text[size] = 0;
    fclose(file);
    return text;
}

static char *page_of(const record *lines, int64_t count)
{
    FILE *file = tmpfile();
    record *copy = unit_malloc((size_t)count * sizeof(*copy));
    assert_non_null(file);
    memcpy(copy, lines, (size_t)count * sizeof(*copy));
    report_write(file, &(records){ .at = copy, .count = count }, (const double[]){ 0 });
    free(copy);
    return text_of(file);
}

/* The number after name=' in the element whose content begins with these words. */
static double attribute_of(const char *page, const char *words, const char *name)
{
    const char *at = strstr(page, words);
    if (!at)
        fail_msg("there is no \"%s\"", words);
    while (at > page && *at != '<')
        at--;
    at = strstr(at, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

#define LINE_OF(dtype_, shape_, gbps_, ceiling_, share_)                                        \
    { .who = "vjp", .op = "op", .name = "case", .dtype = dtype_, .shape = shape_,               \
      .layout = "plain", .device = "cpu", .pages = "huge", .threads = 1, .pairs = 11, .ns = 1e3, \
      .gbps = gbps_, .ceiling = ceiling_, .share = share_ }

/* ---- room ---------------------------------------------------------------------------------- */

static void a_legend_is_not_cut_off(void **state)
{
    (void)state;
    static const char name[] = "a name as long as names are";
    static chart c = { .title = "title", .unit = "x" };
    const char *section = NULL;
    FILE *file = tmpfile();
    assert_non_null(file);
    chart_add(&c, name, false, 1, 1);
    chart_add(&c, name, false, 2, 2);
    chart_write(file, &c, &section);
    char *page = text_of(file);
    assert_true(attribute_of(page, name, " x='") + LETTER * (double)strlen(name) <= CHART_WIDTH);
    free(page);
}

static void a_label_is_not_cut_off(void **state)
{
    (void)state;
    static const char label[] = "20x64x112x112 bf16, diff_dst channels last";
    record line = LINE_OF("bf16", "20x64x112x112", 50, 55, 0.9);
    snprintf(line.layout, sizeof(line.layout), "diff_dst channels last");
    char *page = page_of(&line, 1);
    assert_true(attribute_of(page, label, " x='") >= LETTER * (double)strlen(label));
    free(page);
}

/* A text without enough room is truncated, and shown in full on hover. */
static void a_long_reason_is_shortened(void **state)
{
    (void)state;
    record line = LINE_OF("bf16", "4096", 0, 0, 0);
    for (size_t i = 0; i + 1 < sizeof(line.note); i++)
        line.note[i] = 'w';
    char *page = page_of(&line, 1), whole[sizeof(line.note) + 32];
    snprintf(whole, sizeof(whole), "&#8230;<title>%s</title>", line.note);
    assert_non_null(strstr(page, whole));
    free(page);
}

static void a_mark_does_not_run_through_a_figure(void **state)
{
    (void)state;
    static const double ceilings[] = { 40, 50, 52, 60, 80, 200 };
    for (int i = 0; i < COUNT_OF(ceilings); i++) {
        const record lines[] = { LINE_OF("f32", "4096", 50, ceilings[i], 50 / ceilings[i]),
                                 LINE_OF("f32", "65536", 150, 160, 0.9) };
        char *page = page_of(lines, 2);
        double figure = attribute_of(page, "50 GB/s", " x='");
        const char *mark = strstr(page, "<line class='mark' x1='");
        assert_non_null(mark);
        assert_true(strtod(mark + strlen("<line class='mark' x1='"), NULL) < figure);
        free(page);
    }
}

/* ---- curves -------------------------------------------------------------------------------- */

static char *plot_of(const vjp_op_info *op)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    plot_write(file, op);
    return text_of(file);
}

/* The text that begins at `at` ends within the picture, or is centred or ends at its x. */
static bool fits(const char *at)
{
    const char *words = strchr(at, '>') + 1, *anchor = strstr(at, "text-anchor");
    double x = strtod(strstr(at, " x='") + strlen(" x='"), NULL);
    return (anchor && anchor < words) ||
           x + LETTER * (double)strcspn(words, "<") <= CHART_FILE_WIDTH;
}

static void plots_show_their_text_in_full(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        char *page = plot_of(vjp_op_at(i));
        for (const char *at = page; (at = strstr(at, "<text ")) != NULL; at++)
            if (!fits(at))
                fail_msg("%s: cut off: %.80s", vjp_op_at(i)->name, at);
        free(page);
    }
}

/* A pole would take the frame with it. */
static void plots_have_only_finite_coordinates(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        char *page = plot_of(vjp_op_at(i));
        if (strstr(page, "nan") || strstr(page, "inf"))
            fail_msg("%s has a coordinate that is not a number", vjp_op_at(i)->name);
        free(page);
    }
}

/* How many points of a page's lines are joined to no other, and so cannot be seen. */
static int points_alone(const char *page)
{
    int alone = 0;
    for (const char *at = page; (at = strchr(at, 'M')) != NULL; at++) {
        size_t point = strspn(at + 1, "-.,0123456789");
        alone += point > 0 && (at[1 + point] == 'M' || at[1 + point] == '\'');
    }
    return alone;
}

/* A point may be alone where a function jumps to it and on, as the sign of src does at 0. */
static void steep_curves_are_drawn(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        char *page = plot_of(vjp_op_at(i));
        if (points_alone(page) > 1)
            fail_msg("%s: %d points are alone", vjp_op_at(i)->name, points_alone(page));
        free(page);
    }
}

static void an_infinite_value_is_a_gap(void **state)
{
    (void)state;
    static chart c = { .title = "title", .unit = "x" };
    FILE *file = tmpfile();
    assert_non_null(file);
    chart_add(&c, "dst", false, 1, 1);
    chart_add(&c, "dst", false, 2, (double)INFINITY);
    chart_add(&c, "dst", false, 3, 2);
    chart_file(file, &c);
    char *page = text_of(file);
    assert_null(strstr(page, "inf"));
    assert_null(strstr(page, "nan"));
    free(page);
}

/* ---- figures ------------------------------------------------------------------------------- */

/* A share is the median over the rounds, which the medians' quotient need not be. */
static void a_share_is_that_of_the_line(void **state)
{
    (void)state;
    const record line = LINE_OF("f32", "4096", 134, 100, 0.41);
    char *page = page_of(&line, 1);
    assert_non_null(strstr(page, "134 GB/s (41 %)"));
    assert_non_null(strstr(page, "<td>41 %"));
    assert_null(strstr(page, "134 %"));
    free(page);
}

static void every_dtype_has_its_ceiling(void **state)
{
    (void)state;
    const record lines[] = { LINE_OF("f32", "4096", 50, 60, 0.8),
                             LINE_OF("f32", "8192", 70, 80, 0.8),
                             LINE_OF("f16", "4096", 30, 40, 0.8),
                             LINE_OF("f16", "8192", 35, 45, 0.8) };
    char *page = page_of(lines, COUNT_OF(lines));
    int dashed = 0, named = 0;
    for (const char *at = page; (at = strstr(at, "stroke-dasharray='5 4' d=")) != NULL; at++)
        dashed++;
    for (const char *at = page; (at = strstr(at, ">ceiling</text>")) != NULL; at++)
        named++;
    assert_int_equal(dashed, 2);
    assert_int_equal(named, 1);
    free(page);
}

/* ---- colours ------------------------------------------------------------------------------- */

/* What eyes without one kind of cone see, in linear RGB (Machado, Oliveira and Fernandes, 2009). */
static const double sights[][3][3] = {
    { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
    { { 0.152286, 1.052583, -0.204868 },
      { 0.114503, 0.786281, 0.099216 },
      { -0.003882, -0.048116, 1.051998 } },
    { { 0.367322, 0.860646, -0.227968 },
      { 0.280085, 0.672501, 0.047413 },
      { -0.011820, 0.042940, 0.968881 } },
    { { 1.255528, -0.076749, -0.178779 },
      { -0.078411, 0.930809, 0.147602 },
      { 0.004733, 0.691367, 0.303900 } },
};

static double lightness(double t)
{
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

/* CIE L*a*b* of a colour "#rrggbb". */
static void lab_of(const char *color, const double sight[3][3], double lab[3])
{
    double rgb[3], seen[3];
    for (int i = 0; i < 3; i++) {
        char hex[3] = { color[1 + 2 * i], color[2 + 2 * i], 0 };
        double c = (double)strtol(hex, NULL, 16) / 255;
        rgb[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++) {
        double c = sight[i][0] * rgb[0] + sight[i][1] * rgb[1] + sight[i][2] * rgb[2];
        seen[i] = fmin(1, fmax(0, c));
    }
    double x = lightness((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.95047);
    double y = lightness(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
    double z = lightness((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.08883);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

static void colours_can_be_told_apart(void **state)
{
    (void)state;
    enum {
        COLORS = 7,
        APART = 15
    };
    for (int64_t s = 0; s < COUNT_OF(sights); s++)
        for (int i = 0; i < COLORS; i++)
            for (int j = 0; j < i; j++) {
                double a[3], b[3];
                lab_of(chart_color(i), sights[s], a);
                lab_of(chart_color(j), sights[s], b);
                double distance = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
                if (distance < APART)
                    fail_msg("%s and %s are %.1f apart, seen as %d", chart_color(i), chart_color(j),
                             distance, (int)s);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_legend_is_not_cut_off),
        cmocka_unit_test(a_label_is_not_cut_off),
        cmocka_unit_test(a_long_reason_is_shortened),
        cmocka_unit_test(a_mark_does_not_run_through_a_figure),
        cmocka_unit_test(plots_show_their_text_in_full),
        cmocka_unit_test(plots_have_only_finite_coordinates),
        cmocka_unit_test(steep_curves_are_drawn),
        cmocka_unit_test(an_infinite_value_is_a_gap),
        cmocka_unit_test(a_share_is_that_of_the_line),
        cmocka_unit_test(every_dtype_has_its_ceiling),
        cmocka_unit_test(colours_can_be_told_apart),
    };
    return cmocka_run_group_tests_name("charts", tests, NULL, NULL);
}
