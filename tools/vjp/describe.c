/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - what the library says of its operators, in words. */
#include <inttypes.h>
#include <stdio.h>
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
    case VJP_ATTR_STR:
        return "string";
    }
    return "?";
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
    else if (attr->type == VJP_ATTR_F32)
        snprintf(words, WORDS_SIZE, "%.9g", (double)value->value.f32);
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
    return tensor->dtype_rule == VJP_DTYPE_WIDE ? "D, or f32 where D is f16 or bf16" : "D";
}

const char *dtypes_sentence(const vjp_op_info *op, char words[WORDS_SIZE])
{
    int nwide = 0, n = snprintf(words, WORDS_SIZE, "D is the dtype of the call, one of ");
    for (int i = 1; vjp_dtype_name((vjp_dtype)i); i++)
        n += snprintf(words + n, (size_t)(WORDS_SIZE - n), "%s%s", i > 1 ? ", " : "",
                      vjp_dtype_name((vjp_dtype)i));
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++)
        nwide += vjp_op_tensor(op, i)->dtype_rule == VJP_DTYPE_WIDE;
    snprintf(words + n, (size_t)(WORDS_SIZE - n), "%s",
             nwide > 1 ? ". The tensors that may be f32 instead are so together." : ".");
    return words;
}

/* Input 0 gives the data's shape, the first tensor of another rule gives the others'. */
const char *shape_words(const vjp_op_info *op, int32_t index, const char *quote,
                        char words[WORDS_SIZE])
{
    vjp_shape_rule rule = vjp_op_tensor(op, index)->shape_rule;
    int32_t first = 0;
    while (vjp_op_tensor(op, first)->shape_rule != rule)
        first++;
    if (first == index && rule != VJP_SHAPE_SLOPE)
        return "any";
    snprintf(words, WORDS_SIZE, "%s %s%s%s",
             first == index ? "one that broadcasts to that of" : "that of", quote,
             vjp_op_tensor(op, first == index ? 0 : first)->name, quote);
    return words;
}
