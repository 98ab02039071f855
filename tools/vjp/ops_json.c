/* SPDX-License-Identifier: Apache-2.0 */
/* ops_json.c - vjp ops --json: what the library's enumeration says of an operator. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "json.h"
#include "ops_json.h"

static const char *dtype_rule(vjp_dtype_rule rule)
{
    static const char *const names[] = {
        [VJP_DTYPE_SAME] = "same", [VJP_DTYPE_WIDE] = "wide",   [VJP_DTYPE_ANY] = "any",
        [VJP_DTYPE_STAT] = "stat", [VJP_DTYPE_INDEX] = "index", [VJP_DTYPE_MASK] = "mask",
    };
    return names[rule];
}

static const char *shape_rule(vjp_shape_rule rule)
{
    static const char *const names[] = {
        [VJP_SHAPE_DATA] = "data", [VJP_SHAPE_PARAM] = "param", [VJP_SHAPE_ROW] = "row",
    };
    return names[rule];
}

static const char *role(vjp_attr_role role)
{
    static const char *const names[] = {
        [VJP_ROLE_HINT] = "hint",         [VJP_ROLE_CHOICE] = "choice",
        [VJP_ROLE_FLAG] = "flag",         [VJP_ROLE_CONSTANT] = "constant",
        [VJP_ROLE_AXIS] = "axis",         [VJP_ROLE_AXES] = "axes",
        [VJP_ROLE_FORMAT] = "format",     [VJP_ROLE_CAUSAL] = "causal",
        [VJP_ROLE_IGNORED] = "ignored",   [VJP_ROLE_CHANNELS] = "channels",
        [VJP_ROLE_LENIENT] = "lenient",
    };
    return names[role];
}

static void show_tensor(const vjp_op_info *op, int32_t index)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {
        { VJP_TENSOR_OPTIONAL, "optional" },
        { VJP_TENSOR_SUM, "sum" },
        { VJP_TENSOR_LABEL, "label" },
        { VJP_TENSOR_END, "end" },
    };
    const vjp_tensor_info *tensor = vjp_op_tensor(op, index);
    printf("{");
    json_put_member(stdout, "name", tensor->name);
    printf(", \"output\": %s, ", index < op->ninputs ? "false" : "true");
    json_put_member(stdout, "dtype", dtype_rule(tensor->dtype_rule));
    printf(", ");
    json_put_member(stdout, "shape", shape_rule(tensor->shape_rule));
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        printf(", \"%s\": %s", flags[i].name, tensor->flags & flags[i].flag ? "true" : "false");
    printf("}");
}

/* A string's value is quoted, and so is infinity, which JSON numbers do not have; the text of other
 * values is valid JSON. */
static void show_default(const vjp_attr_info *attr)
{
    char words[WORDS_SIZE];
    const vjp_attr *value = &attr->default_value;
    bool quoted = attr->type == VJP_ATTR_STR ||
                  (attr->type == VJP_ATTR_F64 && !isfinite(value->value.f64));
    printf(", \"default\": ");
    if (quoted)
        json_put_string(stdout, default_words(attr, words));
    else
        fputs(default_words(attr, words), stdout);
}

/* "NCX|NXC" as a list. */
static void show_choices(const char *choices)
{
    printf(", \"choices\": [");
    for (const char *at = choices; *at;) {
        char word[WORDS_SIZE];
        int length = (int)strcspn(at, "|");
        snprintf(word, sizeof(word), "%.*s", length, at);
        json_put_string(stdout, word);
        at += length + (at[length] == '|');
        fputs(*at ? ", " : "", stdout);
    }
    printf("]");
}

static void show_attribute(const vjp_attr_info *attr)
{
    printf("{");
    json_put_member(stdout, "name", attr->name);
    printf(", ");
    json_put_member(stdout, "type", type_words(attr->type));
    printf(", ");
    json_put_member(stdout, "role", role(attr->role));
    printf(", \"required\": %s", attr->required ? "true" : "false");
    if (!attr->required)
        show_default(attr);
    if (attr->choices)
        show_choices(attr->choices);
    printf(", ");
    json_put_member(stdout, "meaning", attr->meaning);
    printf("}");
}

static void show_bound(const vjp_bound_info *bound)
{
    char any[WORDS_SIZE], unit[WORDS_SIZE];
    int n = 0;
    printf("{");
    json_put_member(stdout, "output", bound->output);
    printf(", \"dtypes\": [");
    for (int i = 1; vjp_dtype_name((vjp_dtype)i); i++)
        if (bound->dtypes >> i & 1)
            printf("%s\"%s\"", n++ ? ", " : "", vjp_dtype_name((vjp_dtype)i));
    printf("]");
    if (bound->choice >= 0)
        printf(", \"choice\": %d", (int)bound->choice);
    if (bound->magnitude) {
        printf(", \"c\": %s, ", number_words(bound->c, any));
        json_put_member(stdout, "magnitude", bound->magnitude);
    } else {
        printf(", \"ulp\": %s, \"unit_ulp\": %s", number_words(bound->ulp, any),
               number_words(bound->unit_ulp, unit));
    }
    printf(", ");
    json_put_member(stdout, "text", bound->text);
    printf("}");
}

void ops_show_json(const vjp_op_info *op)
{
    printf("{");
    json_put_member(stdout, "name", op->name);
    printf(", ");
    json_put_member(stdout, "title", op->title);
    printf(", ");
    json_put_member(stdout, "formula", op->formula);
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
    printf("],\n  \"bounds\": [");
    for (int32_t i = 0; i < op->nbounds; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        show_bound(vjp_op_bound(op, i));
    }
    printf("]}");
}
