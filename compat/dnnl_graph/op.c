/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - operations: a kind, tensors by index, attributes; and the check against the schema.
 *
 * Nothing is checked while an operation is being described, only when it is added to a graph or
 * made into a partition, which copy it first.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- describing --------------------------------------------------------------------------- */

dnnl_status_t dnnl_graph_op_create(dnnl_graph_op_t *op, size_t id, dnnl_graph_op_kind_t kind,
                                   const char *verbose_name)
{
    if (!op || !verbose_name || !dg_schema_of(kind))
        return dnnl_invalid_arguments;
    *op = calloc(1, sizeof(**op));
    if (!*op)
        return dnnl_out_of_memory;
    atomic_init(&(*op)->references, 1);
    (*op)->id = id;
    (*op)->kind = kind;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_op_destroy(dnnl_graph_op_t op)
{
    dg_op_release(op);
    return dnnl_success;
}

static dnnl_status_t add_tensor(const dg_lt *tensor, size_t *count, dg_lt **tensors)
{
    dg_lt *grown = realloc(*tensors, (*count + 1) * sizeof(**tensors));
    if (!grown)
        return dnnl_out_of_memory;
    grown[(*count)++] = *tensor;
    *tensors = grown;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_op_add_input(dnnl_graph_op_t op, const dg_lt *input)
{
    if (!op || !input)
        return dnnl_invalid_arguments;
    return add_tensor(input, &op->ninputs, &op->inputs);
}

dnnl_status_t dnnl_graph_op_add_output(dnnl_graph_op_t op, const dg_lt *output)
{
    if (!op || !output)
        return dnnl_invalid_arguments;
    return add_tensor(output, &op->noutputs, &op->outputs);
}

const dg_attr *dg_op_attr(const_dnnl_graph_op_t op, dnnl_graph_op_attr_t id)
{
    for (size_t i = 0; i < op->nattrs; i++)
        if (op->attrs[i].id == id)
            return &op->attrs[i];
    return NULL;
}

/* set_attr - store an attribute, in the place of one of the same id. A string is the op's. */
static dnnl_status_t set_attr(dnnl_graph_op_t op, const dg_attr *attr)
{
    dg_attr *place = (dg_attr *)dg_op_attr(op, attr->id);
    if (!place) {
        dg_attr *grown = realloc(op->attrs, (op->nattrs + 1) * sizeof(*grown));
        if (!grown)
            return dnnl_out_of_memory;
        op->attrs = grown;
        place = &grown[op->nattrs++];
    } else if (place->value.type == VJP_ATTR_STR) {
        free((char *)place->value.value.str);
    }
    *place = *attr;
    return dnnl_success;
}

/* The length of a single number does not count, as in oneDNN: programs pass 0 as well as 1. */
dnnl_status_t dnnl_graph_op_set_attr_f32(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                         const float *value, size_t value_len)
{
    (void)value_len;
    int is_list = !(name > dnnl_graph_op_attr_undef && name < dnnl_graph_op_attr_scales);
    if (!op || !value)
        return dnnl_invalid_arguments;
    dg_attr attr = { name, is_list, vjp_attr_f32(NULL, is_list ? 0 : *value) };
    return set_attr(op, &attr);
}

dnnl_status_t dnnl_graph_op_set_attr_s64(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                         const int64_t *value, size_t value_len)
{
    (void)value_len;
    int is_list = !(name >= dnnl_graph_op_attr_axis && name < dnnl_graph_op_attr_axes);
    if (!op || !value)
        return dnnl_invalid_arguments;
    dg_attr attr = { name, is_list, vjp_attr_s64(NULL, is_list ? 0 : *value) };
    return set_attr(op, &attr);
}

dnnl_status_t dnnl_graph_op_set_attr_bool(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                          const uint8_t *value, size_t value_len)
{
    if (!op || !value || value_len != 1)
        return dnnl_invalid_arguments;
    dg_attr attr = { name, 0, vjp_attr_bool(NULL, *value != 0) };
    return set_attr(op, &attr);
}

dnnl_status_t dnnl_graph_op_set_attr_str(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                         const char *value, size_t value_len)
{
    if (!op || !value || !value_len)
        return dnnl_invalid_arguments;
    char *copy = strdup(value);
    if (!copy)
        return dnnl_out_of_memory;
    dg_attr attr = { name, 0, vjp_attr_str(NULL, copy) };
    dnnl_status_t status = set_attr(op, &attr);
    if (status)
        free(copy);
    return status;
}

dnnl_status_t dnnl_graph_op_get_id(const_dnnl_graph_op_t op, size_t *id)
{
    if (!op || !id)
        return dnnl_invalid_arguments;
    *id = op->id;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_op_get_kind(const_dnnl_graph_op_t op, dnnl_graph_op_kind_t *kind)
{
    if (!op || !kind)
        return dnnl_invalid_arguments;
    *kind = op->kind;
    return dnnl_success;
}

/* ---- sharing ------------------------------------------------------------------------------ */

/* copy_attr - set an attribute of another operation, through the API so that a string is copied. */
static dnnl_status_t copy_attr(dnnl_graph_op_t op, const dg_attr *attr)
{
    if (attr->value.type == VJP_ATTR_STR)
        return dnnl_graph_op_set_attr_str(op, attr->id, attr->value.value.str, 1);
    return set_attr(op, attr);
}

dnnl_graph_op_t dg_op_copy(const_dnnl_graph_op_t op)
{
    dnnl_graph_op_t copy;
    dnnl_status_t status = dnnl_graph_op_create(&copy, op->id, op->kind, "");
    if (status)
        return NULL;
    for (size_t i = 0; i < op->ninputs && !status; i++)
        status = dnnl_graph_op_add_input(copy, &op->inputs[i]);
    for (size_t i = 0; i < op->noutputs && !status; i++)
        status = dnnl_graph_op_add_output(copy, &op->outputs[i]);
    for (size_t i = 0; i < op->nattrs && !status; i++)
        status = copy_attr(copy, &op->attrs[i]);
    if (status) {
        dg_op_release(copy);
        return NULL;
    }
    return copy;
}

dnnl_graph_op_t dg_op_retain(dnnl_graph_op_t op)
{
    atomic_fetch_add(&op->references, 1);
    return op;
}

void dg_op_release(dnnl_graph_op_t op)
{
    if (!op || atomic_fetch_sub(&op->references, 1) != 1)
        return;
    for (size_t i = 0; i < op->nattrs; i++)
        if (op->attrs[i].value.type == VJP_ATTR_STR)
            free((char *)op->attrs[i].value.value.str);
    free(op->attrs);
    free(op->inputs);
    free(op->outputs);
    free(op);
}

/* ---- checking ----------------------------------------------------------------------------- */

static int tensors_fit(const dg_schema *schema, const_dnnl_graph_op_t op)
{
    if (!dg_schema_takes_count(schema, 0, op->ninputs) ||
        !dg_schema_takes_count(schema, 1, op->noutputs))
        return 0;
    if (schema->is_open)
        return 1;
    const dg_lt *inputs[DG_MAX_TENSORS], *outputs[DG_MAX_TENSORS];
    for (size_t i = 0; i < op->ninputs; i++)
        inputs[i] = &op->inputs[i];
    for (size_t i = 0; i < op->noutputs; i++)
        outputs[i] = &op->outputs[i];
    return dg_schema_takes_dtypes(schema, op->ninputs, inputs, op->noutputs, outputs);
}

static int attr_fits(const dg_schema *schema, const dg_attr *attr)
{
    const dg_attr_schema *wanted = dg_schema_attr(schema, attr->id);
    if (!wanted || attr->is_list || attr->value.type != wanted->value.type)
        return 0;
    return !wanted->choices || dg_is_choice(wanted->choices, attr->value.value.str);
}

/* outputs_fit - all are there if an attribute says that they must be. */
static int outputs_fit(const dg_schema *schema, const_dnnl_graph_op_t op)
{
    for (const dg_attr_schema *attr = schema->attrs; attr->id; attr++) {
        const dg_attr *set = dg_op_attr(op, attr->id);
        int wanted = set ? set->value.value.b : attr->value.value.b;
        if (attr->use == DG_ALL_OUTPUTS && wanted && dg_schema_tensor(schema, 1, op->noutputs))
            return 0;
    }
    return 1;
}

int dg_op_fits(const_dnnl_graph_op_t op)
{
    const dg_schema *schema = dg_schema_of(op->kind);
    if (!tensors_fit(schema, op))
        return 0;
    if (schema->is_open)
        return 1;
    for (size_t i = 0; i < op->nattrs; i++)
        if (!attr_fits(schema, &op->attrs[i]))
            return 0;
    for (const dg_attr_schema *attr = schema->attrs; attr->id; attr++)
        if (attr->required && !dg_op_attr(op, attr->id))
            return 0;
    return outputs_fit(schema, op);
}
