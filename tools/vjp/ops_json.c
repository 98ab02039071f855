/* SPDX-License-Identifier: Apache-2.0 */
/* ops_json.c - vjp ops --json: what the library's enumeration says of an operator. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "json.h"
#include "ops_json.h"

static void show_tensor(const vjp_op_info *op, int32_t index)
{
    const vjp_tensor_info *tensor = vjp_op_tensor(op, index);
    printf("{");
    json_member(stdout, "name", tensor->name);
    printf(", \"output\": %s, ", index < op->ninputs ? "false" : "true");
    json_member(stdout, "dtype", tensor->dtype_rule == VJP_DTYPE_WIDE ? "wide" : "same");
    printf(", ");
    json_member(stdout, "shape", tensor->shape_rule == VJP_SHAPE_SLOPE ? "slope" : "data");
    printf("}");
}

/* A string's value is quoted, the words for the others are JSON's too. */
static void show_default(const vjp_attr_info *attr)
{
    printf(", \"default\": ");
    if (attr->type == VJP_ATTR_STR) {
        json_string(stdout, attr->default_value.value.str);
    } else {
        char words[WORDS_SIZE];
        fputs(default_words(attr, words), stdout);
    }
}

/* "NCX|NXC" as a list. */
static void show_choices(const char *choices)
{
    printf(", \"choices\": [");
    for (const char *at = choices; *at;) {
        char word[WORDS_SIZE];
        int length = (int)strcspn(at, "|");
        snprintf(word, sizeof(word), "%.*s", length, at);
        json_string(stdout, word);
        at += length + (at[length] == '|');
        fputs(*at ? ", " : "", stdout);
    }
    printf("]");
}

static void show_attribute(const vjp_attr_info *attr)
{
    printf("{");
    json_member(stdout, "name", attr->name);
    printf(", ");
    json_member(stdout, "type", type_words(attr->type));
    printf(", \"required\": %s", attr->required ? "true" : "false");
    if (!attr->required)
        show_default(attr);
    if (attr->choices)
        show_choices(attr->choices);
    printf(", ");
    json_member(stdout, "meaning", attr->meaning);
    printf("}");
}

void ops_show_json(const vjp_op_info *op)
{
    printf("{");
    json_member(stdout, "name", op->name);
    printf(", ");
    json_member(stdout, "title", op->title);
    printf(", ");
    json_member(stdout, "formula", op->formula);
    printf(",\n  ");
    json_member(stdout, "accuracy", op->accuracy);
    printf(",\n  \"tensors\": [");
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        show_tensor(op, i);
    }
    printf("],\n  \"attributes\": [");
    for (int32_t i = 0; i < op->nattrs; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        show_attribute(vjp_op_attr(op, i));
    }
    printf("]}");
}
