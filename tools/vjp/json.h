/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - text as JSON has it. */
#ifndef VJP_JSON_H
#define VJP_JSON_H

#include <stdio.h>

/* json_string - the text between quotes. json_member - "name": "text". */
void json_string(FILE *to, const char *text);
void json_member(FILE *to, const char *name, const char *text);

#endif
