/* SPDX-License-Identifier: Apache-2.0 */
/* chart_text.c - the words and colours of charts; see chart.h. */
#include <string.h>

#include "chart.h"

/* Okabe and Ito's colours without black and yellow, and a grey: with normal sight and with each of
 * the three kinds of colour blindness any two are at least 10 apart in CIEDE2000, and each has a
 * contrast of 2.3 or more on white and on the dark background. */
const char *chart_color(int i)
{
    static const char *const colors[CHART_COLORS] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#666666" };
    return colors[i % CHART_COLORS];
}

static void write_some(FILE *page, const char *text, size_t length)
{
    for (; length > 0; text++, length--) {
        if (*text == '<')
            fputs("&lt;", page);
        else if (*text == '&')
            fputs("&amp;", page);
        else
            fputc(*text, page);
    }
}

void write_text(FILE *page, const char *text)
{
    write_some(page, text, strlen(text));
}

/* Pixels of a character at 11 px. DejaVu Sans and Verdana are the widest of the usual fonts. */
static double width_of(char c)
{
    if ((c & 0xc0) == 0x80) /* goes on with a character of several bytes */
        return 0;
    if (strchr("ijlI.,:;'|!", c) || c == ' ')
        return 4;
    return (c >= '0' && c <= '9') ? 7 : strchr("mwMW%", c) ? 10.5 : 7;
}

double text_width(const char *text)
{
    double width = 0;
    for (; *text; text++)
        width += width_of(*text);
    return width;
}

void write_fitted(FILE *page, const char *text, double room)
{
    if (text_width(text) <= room) {
        write_text(page, text);
        return;
    }
    size_t length = 0;
    double width = 11; /* of the dots */
    while (width + width_of(text[length]) <= room)
        width += width_of(text[length++]);
    while (length > 0 && (text[length] & 0xc0) == 0x80)
        length--;
    write_some(page, text, length);
    fputs("&#8230;<title>", page);
    write_text(page, text);
    fputs("</title>", page);
}
