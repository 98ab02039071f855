/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - reads JSON whose structure the caller knows, from untrusted text.
 *
 * Values are taken in order. The first error is kept in `error`; after that, every function does
 * nothing, so that a caller may check once at the end:
 *
 *     json j = json_start(text, size);
 *     json_open(&j, '{');
 *     for (int n = 0; json_more(&j, '}', n); n++) {
 *         char *key = json_key(&j);
 *         ...
 *     }
 *     if (!json_end(&j))
 *         complain(j.error);
 */
#ifndef VJP_REFERENCE_JSON_H
#define VJP_REFERENCE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    const char *at, *end;
    const char *error; /* a one-line reason; NULL: no error */
} json;

json json_start(const char *text, size_t size);

/* json_end - whether all of the text was taken, without a mistake. */
bool json_end(json *j);

/* json_fail - keep a mistake, unless there was one before. Returns false. */
bool json_fail(json *j, const char *error);

/* json_open - take '{' or '['. json_more - before element n of an object or array: takes the comma
 * before all but the first; at the closing bracket takes that and returns false. */
bool json_open(json *j, char bracket);
bool json_more(json *j, char closing, int64_t n);

/* json_string - a string without its escapes, to be freed; NULL after a mistake. It has no 0
 * inside. json_key - the same, and the colon after it. */
char *json_string(json *j);
char *json_key(json *j);

/* json_integer - a whole number that fits. json_scalar - a string, number, true or false as text,
 * to be freed; NULL after a mistake. */
int64_t json_integer(json *j);
char *json_scalar(json *j);

/* json_put_string - write a string with its quotes and escapes. */
void json_put_string(FILE *out, const char *text);

/* json_put_member - write "name": "text". */
void json_put_member(FILE *out, const char *name, const char *text);

#endif
