/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - what the library says of its operators, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"

const char *type_words(vjp_attr_type type)
{
    switch (type) {
    case VJP_ATTR_BOOL:
        return "bool";
    case VJP_ATTR_S64:
        return "s64";
    case VJP_ATTR_F32:
        return "f32";
    case VJP_ATTR_F64:
        return "f64";
    case VJP_ATTR_STR:
        return "string";
    }
    return "?";
}

const char *number_words(double value, char words[WORDS_SIZE])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(words, WORDS_SIZE, "%.*g", digits, value);
        if (strtod(words, NULL) == value)
            break;
    }
    return words;
}

const char *default_words(const vjp_attr_info *attr, char words[WORDS_SIZE])
{
    const vjp_attr *value = &attr->default_value;
    if (attr->required)
        snprintf(words, WORDS_SIZE, "required");
    else if (attr->type == VJP_ATTR_BOOL)
        snprintf(words, WORDS_SIZE, "%s", value->value.b ? "true" : "false");
    else if (attr->type == VJP_ATTR_S64)
        snprintf(words, WORDS_SIZE, "%" PRId64, value->value.s64);
    else if (attr->type == VJP_ATTR_F64)
        number_words(value->value.f64, words);
    else
        snprintf(words, WORDS_SIZE, "%s", value->value.str);
    return words;
}

const char *values_words(const vjp_attr_info *attr, char words[WORDS_SIZE])
{
    if (attr->type == VJP_ATTR_BOOL)
        return "true, false";
    if (attr->type == VJP_ATTR_S64)
        return "an integer";
    if (!attr->choices)
        return "any";
    int n = 0;
    for (const char *c = attr->choices; *c && n + 3 < WORDS_SIZE; c++) {
        words[n++] = (char)(*c == '|' ? ',' : *c);
        if (*c == '|')
            words[n++] = ' ';
    }
    words[n] = 0;
    return words;
}

vjp_dtype dtype_named(const char *name, size_t length)
{
    for (int i = 1; vjp_dtype_name((vjp_dtype)i); i++)
        if (strlen(vjp_dtype_name((vjp_dtype)i)) == length &&
            !memcmp(vjp_dtype_name((vjp_dtype)i), name, length))
            return (vjp_dtype)i;
    return (vjp_dtype)0;
}

const char *dtype_words(const vjp_tensor_info *tensor)
{
    switch (tensor->dtype_rule) {
    case VJP_DTYPE_SAME:
        return "D";
    case VJP_DTYPE_WIDE:
        return "D, or f32 where D is f16 or bf16";
    case VJP_DTYPE_ANY:
        return "D, or one of f32, f16 and bf16 where it or D is f32";
    case VJP_DTYPE_STAT:
        return "f64 where D is f64, else f32";
    case VJP_DTYPE_INDEX:
        return "s32 or s64";
    case VJP_DTYPE_MASK:
        return "u8";
    }
    return "?";
}

bool dtype_fits(vjp_dtype_rule rule, vjp_dtype data, vjp_dtype dtype)
{
    bool narrow = dtype == VJP_F16 || dtype == VJP_BF16;
    bool narrow_data = data == VJP_F16 || data == VJP_BF16;
    if (dtype == data)
        return rule == VJP_DTYPE_SAME || rule == VJP_DTYPE_WIDE || rule == VJP_DTYPE_ANY;
    if (narrow_data && dtype == VJP_F32)
        return rule == VJP_DTYPE_WIDE || rule == VJP_DTYPE_ANY;
    return rule == VJP_DTYPE_ANY && data == VJP_F32 && narrow;
}

const char *dtypes_sentence(const vjp_op_info *op, const char *quote, char words[WORDS_SIZE])
{
    snprintf(words, WORDS_SIZE, "D is the dtype of %s%s%s: f64, f32, f16 or bf16.", quote,
             vjp_op_tensor(op, 0)->name, quote);
    return words;
}

int32_t shape_model(const vjp_op_info *op, int32_t index)
{
    const vjp_tensor_info *tensor = vjp_op_tensor(op, index);
    for (int32_t i = 0; i < index && tensor->shape_rule == VJP_SHAPE_PARAM; i++) {
        const vjp_tensor_info *other = vjp_op_tensor(op, i);
        bool gradient =
            !strncmp(tensor->name, "diff_", 5) && !strcmp(tensor->name + 5, other->name);
        if (gradient || (tensor->flags & other->flags & VJP_TENSOR_SUM))
            return i;
    }
    return tensor->shape_rule == VJP_SHAPE_DATA && index > 0 ? 0 : -1;
}

const char *shape_words(const vjp_op_info *op, int32_t index, const char *quote,
                        char words[WORDS_SIZE])
{
    vjp_shape_rule rule = vjp_op_tensor(op, index)->shape_rule;
    int32_t model = shape_model(op, index);
    const char *data = vjp_op_tensor(op, 0)->name;
    if (index == 0)
        return "any";
    if (model >= 0)
        snprintf(words, WORDS_SIZE, "that of %s%s%s", quote, vjp_op_tensor(op, model)->name, quote);
    else if (rule == VJP_SHAPE_ROW)
        snprintf(words, WORDS_SIZE, "that of %s%s%s without the axis, or with 1 there", quote, data,
                 quote);
    else
        snprintf(words, WORDS_SIZE, "one that broadcasts to that of %s%s%s", quote, data, quote);
    return words;
}

/* Choice `index` of "A|B|C". */
static void put_choice(const char *choices, int32_t index, char words[WORDS_SIZE])
{
    while (index-- > 0)
        choices = strchr(choices, '|') + 1;
    snprintf(words, WORDS_SIZE, "%.*s", (int)strcspn(choices, "|"), choices);
}

const char *bound_dtypes(const vjp_bound_info *bound, char words[WORDS_SIZE])
{
    int n = 0;
    words[0] = 0;
    for (int i = 1; vjp_dtype_name((vjp_dtype)i); i++)
        if (bound->dtypes >> i & 1)
            n += snprintf(words + n, (size_t)(WORDS_SIZE - n), "%s%s", n ? ", " : "",
                          vjp_dtype_name((vjp_dtype)i));
    return words;
}

const char *bound_choice(const vjp_op_info *op, const vjp_bound_info *bound, char words[WORDS_SIZE])
{
    char value[WORDS_SIZE];
    words[0] = 0;
    for (int32_t i = 0; i < op->nattrs && bound->choice >= 0; i++) {
        const vjp_attr_info *attr = vjp_op_attr(op, i);
        if (attr->role != VJP_ROLE_CHOICE)
            continue;
        if (attr->type == VJP_ATTR_STR)
            put_choice(attr->choices, bound->choice, value);
        else
            snprintf(value, sizeof(value), "%s", bound->choice ? "true" : "false");
        snprintf(words, WORDS_SIZE, "%s = %.100s", attr->name, value);
    }
    return words;
}
