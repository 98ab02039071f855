/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - ops.def expanded into a table, and its queries. */
#include "schema.h"

#include <string.h>

#define IN(name, rule) { #name, DG_IN, DG_##rule },
#define IN_UNUSED(name, rule) { #name, DG_IN_UNUSED, DG_##rule },
#define OUT(name, rule) { #name, DG_OUT, DG_##rule },
#define OUT_IN_PLACE(name, rule) { #name, DG_OUT_IN_PLACE, DG_##rule },
#define OUT_OPTIONAL(name, rule) { #name, DG_OUT_OPTIONAL, DG_##rule },
#define NO_ATTRS { dnnl_graph_op_attr_undef, 0, { NULL, VJP_ATTR_BOOL, { 0 } }, NULL, DG_PASSED },
#define BOOL_FOR(name, value, use) \
    { dnnl_graph_op_attr_##name, 0, { #name, VJP_ATTR_BOOL, { .b = (value) } }, NULL, use },
#define BOOL(name, value) BOOL_FOR(name, value, DG_PASSED)
#define ALL_OUTPUTS(name, value) BOOL_FOR(name, value, DG_ALL_OUTPUTS)
#define UNUSED(name, value) BOOL_FOR(name, value, DG_UNUSED)
#define S64_AS(name, core_name, value)                  \
    { dnnl_graph_op_attr_##name,                        \
      0,                                                \
      { #core_name, VJP_ATTR_S64, { .s64 = (value) } }, \
      NULL,                                             \
      DG_PASSED },
#define S64(name, value) S64_AS(name, name, value)
#define F32(name, value) \
    { dnnl_graph_op_attr_##name, 0, { #name, VJP_ATTR_F32, { .f32 = (value) } }, NULL, DG_PASSED },
#define STR(name, value, choices)                  \
    { dnnl_graph_op_attr_##name,                   \
      0,                                           \
      { #name, VJP_ATTR_STR, { .str = (value) } }, \
      choices,                                     \
      DG_PASSED },
#define F32_REQUIRED(name) \
    { dnnl_graph_op_attr_##name, 1, { #name, VJP_ATTR_F32, { .f32 = 0 } }, NULL, DG_PASSED },
#define FIXED(name, value) \
    { dnnl_graph_op_attr_end, 0, { #name, VJP_ATTR_STR, { .str = (value) } }, NULL, DG_FIXED },
#define OP(kind, in_out, attributes) \
    [dnnl_graph_op_##kind] = { .name = #kind, .tensors = { in_out }, .attrs = { attributes } },
#define NORM(kind, inputs, outputs, in_out, attributes)       \
    [dnnl_graph_op_##kind] = { .name = #kind,                 \
                               .counts = { inputs, outputs }, \
                               .tensors = { in_out },         \
                               .attrs = { attributes } },
#define JUST(n) { (n), (n), 1 }
#define EITHER(a, b) { (a), (b), (b) - (a) }
#define FROM(a, b) { (a), (b), 1 }
#define COUNTED(kind, inputs, outputs) \
    [dnnl_graph_op_##kind] = { .name = #kind, .is_open = 1, .counts = { inputs, outputs } },
#define UNCHECKED(kind) COUNTED(kind, FROM(0, SIZE_MAX), FROM(0, SIZE_MAX))

static const dg_schema schemas[] = {
#include "ops.def"
};

#define NSCHEMAS (sizeof(schemas) / sizeof(schemas[0]))

_Static_assert(NSCHEMAS == dnnl_graph_op_last_symbol, "ops.def lists every op kind");

const dg_schema *dg_schema_of(dnnl_graph_op_kind_t kind)
{
    return (size_t)kind < NSCHEMAS ? &schemas[kind] : NULL;
}

static int is_of_side(const dg_tensor_schema *tensor, int is_output)
{
    int is_input = tensor->role == DG_IN || tensor->role == DG_IN_UNUSED;
    return tensor->role != DG_NO_TENSOR && is_input != is_output;
}

const dg_tensor_schema *dg_schema_tensor(const dg_schema *schema, int is_output, size_t index)
{
    for (size_t i = 0; i < DG_MAX_TENSORS; i++)
        if (is_of_side(&schema->tensors[i], is_output) && index-- == 0)
            return &schema->tensors[i];
    return NULL;
}

int dg_schema_takes_count(const dg_schema *schema, int is_output, size_t count)
{
    const dg_counts *c = &schema->counts[is_output];
    if (c->step)
        return count >= c->first && count <= c->last && (count - c->first) % c->step == 0;
    size_t needed = 0, optional = 0;
    for (size_t i = 0; i < DG_MAX_TENSORS; i++) {
        if (!is_of_side(&schema->tensors[i], is_output))
            continue;
        if (schema->tensors[i].role == DG_OUT_OPTIONAL)
            optional++;
        else
            needed++;
    }
    return count >= needed && count <= needed + optional;
}

const dg_attr_schema *dg_schema_attr(const dg_schema *schema, dnnl_graph_op_attr_t id)
{
    for (const dg_attr_schema *attr = schema->attrs; attr->id; attr++)
        if (attr->id == id && attr->use != DG_FIXED)
            return attr;
    return NULL;
}

int dg_attr_is_passed(const dg_attr_schema *attr)
{
    return attr->use == DG_PASSED || attr->use == DG_FIXED;
}

static int takes_dtype(dg_dtype_rule rule, dnnl_data_type_t t, dnnl_data_type_t dtype)
{
    if (dtype != dnnl_f32 && dtype != dnnl_bf16 && dtype != dnnl_f16)
        return 0;
    switch (rule) {
    case DG_T:
        return dtype == t;
    case DG_T_OR_F32:
        return dtype == t || dtype == dnnl_f32;
    case DG_T_OR_EITHER_F32:
        return dtype == t || dtype == dnnl_f32 || t == dnnl_f32;
    case DG_F32_ONLY:
        return dtype == dnnl_f32;
    case DG_F32_OR_BF16:
        return dtype == dnnl_f32 || (dtype == dnnl_bf16 && t == dnnl_bf16);
    }
    return 0;
}

/* takes_side - whether the inputs or the outputs have data types that the schema takes. `t` is T;
 * *f32_or_bf16 is what the tensors of that rule have, undefined until the first of them is seen. */
static int takes_side(const dg_schema *schema, int is_output, dnnl_data_type_t t,
                      dnnl_data_type_t *f32_or_bf16, size_t n,
                      const dnnl_graph_logical_tensor_t *const *tensors)
{
    for (size_t i = 0; i < n; i++) {
        dg_dtype_rule rule = dg_schema_tensor(schema, is_output, i)->rule;
        dnnl_data_type_t dtype = tensors[i]->data_type;
        if (!takes_dtype(rule, t, dtype))
            return 0;
        if (rule != DG_F32_OR_BF16)
            continue;
        if (*f32_or_bf16 != dnnl_data_type_undef && *f32_or_bf16 != dtype)
            return 0;
        *f32_or_bf16 = dtype;
    }
    return 1;
}

int dg_schema_takes_dtypes(const dg_schema *schema, size_t ninputs,
                           const dnnl_graph_logical_tensor_t *const *inputs, size_t noutputs,
                           const dnnl_graph_logical_tensor_t *const *outputs)
{
    /* Input 0 is a T in every schema. */
    dnnl_data_type_t t = ninputs ? inputs[0]->data_type : dnnl_data_type_undef;
    dnnl_data_type_t f32_or_bf16 = dnnl_data_type_undef;
    return takes_side(schema, 0, t, &f32_or_bf16, ninputs, inputs) &&
           takes_side(schema, 1, t, &f32_or_bf16, noutputs, outputs);
}

int dg_is_choice(const char *choices, const char *value)
{
    size_t length = strcspn(value, "|");
    if (value[length])
        return 0;
    for (const char *choice = choices; choice; choice = strchr(choice, '|')) {
        choice += *choice == '|';
        if (strncmp(choice, value, length) == 0 && (choice[length] == '|' || !choice[length]))
            return 1;
    }
    return 0;
}
