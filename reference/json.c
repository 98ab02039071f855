/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. RFC 8259, apart from null and from strings that hold a 0. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

json json_start(const char *text, size_t size)
{
    return (json){ text, text + size, NULL };
}

bool json_fail(json *j, const char *error)
{
    if (j->error == NULL)
        j->error = error;
    return false;
}

static void skip_blanks(json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

/* The next character that is not blank; 0 at the end or after a mistake. */
static char next(json *j)
{
    skip_blanks(j);
    return (char)(j->error == NULL && j->at < j->end ? *j->at : 0);
}

static bool take(json *j, char wanted)
{
    if (next(j) != wanted)
        return false;
    j->at++;
    return true;
}

bool json_end(json *j)
{
    if (j->error == NULL && (skip_blanks(j), j->at < j->end))
        json_fail(j, "text follows the end of the JSON value");
    return j->error == NULL;
}

bool json_open(json *j, char bracket)
{
    if (take(j, bracket))
        return true;
    return json_fail(j, bracket == '{' ? "a JSON object is missing" : "a JSON array is missing");
}

bool json_more(json *j, char closing, int64_t n)
{
    if (j->error != NULL || take(j, closing))
        return false;
    if (n > 0 && !take(j, ','))
        return json_fail(j, "a comma or a closing bracket is missing");
    return true;
}

/* ---- strings ------------------------------------------------------------------------------ */

/* Four hexadecimal digits; -1 if they are not there. */
static int32_t take_hex(json *j)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        char c = (char)(j->at < j->end ? *j->at : 0);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The code point after "\u": half of a pair of surrogates needs its other half. -1 if it is none. */
static int32_t take_code_point(json *j)
{
    int32_t high = take_hex(j);
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
        return -1;
    j->at += 2;
    int32_t low = take_hex(j);
    if (low < 0xdc00 || low > 0xdfff)
        return -1;
    return 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
}

/* As UTF-8: at most as many bytes as the escape had. */
static size_t put_code_point(int32_t code, char *to)
{
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const int first[] = { 0, 0xc0, 0xe0, 0xf0 };
    to[0] = (char)(first[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* What follows a backslash, written to `to`. Returns its bytes, 0 after a mistake. */
static size_t take_escape(json *j, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = (char)(j->at < j->end ? *j->at++ : 0);
    const char *name = c != 0 ? strchr(names, c) : NULL;
    if (name != NULL) {
        *to = values[name - names];
        return 1;
    }
    int32_t code = c == 'u' ? take_code_point(j) : -1;
    return code > 0 ? put_code_point(code, to) : (size_t)json_fail(j, "a string has a bad escape");
}

/* The string up to its closing quote, into `text`, which has room for it as it stands. */
static void take_characters(json *j, const char *closing, char *text)
{
    size_t used = 0;
    while (j->error == NULL && j->at < closing) {
        unsigned char c = (unsigned char)*j->at++;
        if (c == '\\')
            used += take_escape(j, text + used);
        else if (c >= ' ')
            text[used++] = (char)c;
        else
            json_fail(j, "a string has a control character");
    }
    text[used] = 0;
}

char *json_string(json *j)
{
    if (!take(j, '"')) {
        json_fail(j, "a string is missing");
        return NULL;
    }
    const char *closing = j->at;
    while (closing < j->end && *closing != '"')
        closing += *closing == '\\' && j->end - closing > 1 ? 2 : 1;
    char *text = closing < j->end ? malloc((size_t)(closing - j->at) + 1) : NULL;
    if (text == NULL) {
        json_fail(j, closing < j->end ? "out of memory" : "a string has no end");
        return NULL;
    }
    take_characters(j, closing, text);
    if (j->error == NULL) {
        j->at++;
        return text;
    }
    free(text);
    return NULL;
}

char *json_key(json *j)
{
    char *key = json_string(j);
    if (key == NULL || take(j, ':'))
        return key;
    json_fail(j, "a colon is missing");
    free(key);
    return NULL;
}

void json_put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

void json_put_member(FILE *out, const char *name, const char *text)
{
    json_put_string(out, name);
    fputs(": ", out);
    json_put_string(out, text);
}

/* ---- numbers ------------------------------------------------------------------------------ */

int64_t json_integer(json *j)
{
    bool negative = take(j, '-');
    int64_t value = 0;
    const char *first = j->at;
    for (; j->error == NULL && j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *j->at - '0', &value))
            return json_fail(j, "a number does not fit in 63 bits");
    bool fraction = j->at < j->end && strchr(".eE", *j->at) != NULL && *j->at != 0;
    if (j->at == first || fraction)
        return json_fail(j, "a whole number is missing");
    return negative ? -value : value;
}

/* The text of a number, true or false: what of it makes sense is for the caller to see. */
char *json_scalar(json *j)
{
    if (next(j) == '"')
        return json_string(j);
    const char *first = j->at;
    while (j->error == NULL && j->at < j->end &&
           ((*j->at >= '0' && *j->at <= '9') || (*j->at >= 'a' && *j->at <= 'z') ||
            *j->at == 'E' || *j->at == '+' || *j->at == '-' || *j->at == '.'))
        j->at++;
    size_t size = (size_t)(j->at - first);
    char *text = size > 0 ? malloc(size + 1) : NULL;
    if (text == NULL) {
        json_fail(j, size > 0 ? "out of memory" : "a value is missing");
        return NULL;
    }
    memcpy(text, first, size);
    text[size] = 0;
    return text;
}
