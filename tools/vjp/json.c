/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "json.h"

void json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            fprintf(to, "\\u%04x", (unsigned)*text);
        else
            fprintf(to, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc('"', to);
}

void json_member(FILE *to, const char *name, const char *text)
{
    json_string(to, name);
    fputs(": ", to);
    json_string(to, text);
}
