/* SPDX-License-Identifier: Apache-2.0 */
/* partition.c - partitions: one operation each, and whether vjp serves it.
 *
 * An operation is served if vjp has an operator of the same name that has the tensors and
 * attributes of the schema, and needs no others. They are matched by name, so the order of either
 * API is its own, and what is optional in vjp may be missing here.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- what is served ----------------------------------------------------------------------- */

static const vjp_attr_info *find_attr(const vjp_op_info *core, const char *name)
{
    for (int32_t i = 0; i < core->nattrs; i++)
        if (strcmp(vjp_op_attr(core, i)->name, name) == 0)
            return vjp_op_attr(core, i);
    return NULL;
}

static int takes_type(vjp_attr_type type, vjp_attr_type given)
{
    return type == given || (type == VJP_ATTR_F64 && given == VJP_ATTR_F32);
}

static int schema_has_attr(const dg_schema *schema, const char *name)
{
    for (const dg_attr_schema *attr = schema->attrs; attr->id; attr++)
        if (strcmp(attr->value.name, name) == 0)
            return 1;
    return 0;
}

/* attrs_match - vjp takes all attributes of the schema, and needs no others. */
static int attrs_match(const dg_schema *schema, const vjp_op_info *core)
{
    for (const dg_attr_schema *attr = schema->attrs; attr->id; attr++) {
        const vjp_attr_info *found = find_attr(core, attr->value.name);
        if (dg_attr_is_passed(attr) && (!found || !takes_type(found->type, attr->value.type)))
            return 0;
    }
    for (int32_t i = 0; i < core->nattrs; i++)
        if (vjp_op_attr(core, i)->required && !schema_has_attr(schema, vjp_op_attr(core, i)->name))
            return 0;
    return 1;
}

/* place_tensors - fill partition->place; 0 if vjp does not have a tensor of the operation, or needs
 * one that the operation does not have. */
static int place_tensors(dnnl_graph_partition_t partition, const dg_schema *schema,
                         const vjp_op_info *core)
{
    size_t ninputs = partition->op->ninputs, noutputs = partition->op->noutputs;
    int32_t ntensors = core->ninputs + core->noutputs;
    int placed[DG_MAX_TENSORS] = { 0 };
    if (ntensors > DG_MAX_TENSORS)
        return 0;
    for (size_t i = 0; i < ninputs + noutputs; i++) {
        int is_output = i >= ninputs;
        const dg_tensor_schema *tensor =
            dg_schema_tensor(schema, is_output, is_output ? i - ninputs : i);
        int32_t found = vjp_op_tensor_index(core, tensor->name);
        partition->place[i] = DG_NOWHERE;
        if (tensor->role == DG_IN_UNUSED)
            continue;
        if (found < 0 || (found >= core->ninputs) != is_output)
            return 0;
        partition->place[i] = found;
        placed[found] = 1;
    }
    for (int32_t i = 0; i < ntensors; i++)
        if (!placed[i] && !(vjp_op_tensor(core, i)->flags & VJP_TENSOR_OPTIONAL))
            return 0;
    return 1;
}

static const vjp_op_info *find_core(dnnl_graph_partition_t partition)
{
    const dg_schema *schema = dg_schema_of(partition->op->kind);
    if (schema->is_open || partition->kind != dnnl_cpu)
        return NULL;
    const vjp_op_info *core = vjp_op_find(schema->name);
    if (!core || !attrs_match(schema, core) || !place_tensors(partition, schema, core))
        return NULL;
    return core;
}

/* ---- life --------------------------------------------------------------------------------- */

dnnl_graph_partition_t dg_partition_create(dnnl_graph_op_t op, dnnl_engine_kind_t kind)
{
    static atomic_size_t next_id;
    dnnl_graph_partition_t made = calloc(1, sizeof(*made));
    if (!made) {
        dg_op_release(op);
        return NULL;
    }
    atomic_init(&made->references, 1);
    made->id = atomic_fetch_add(&next_id, 1);
    made->kind = kind;
    made->op = op;
    made->core = find_core(made);
    return made;
}

dnnl_graph_partition_t dg_partition_retain(dnnl_graph_partition_t partition)
{
    atomic_fetch_add(&partition->references, 1);
    return partition;
}

void dg_partition_release(dnnl_graph_partition_t partition)
{
    if (partition && atomic_fetch_sub(&partition->references, 1) == 1) {
        dg_op_release(partition->op);
        free(partition);
    }
}

dnnl_status_t dnnl_graph_partition_create_with_op(dnnl_graph_partition_t *partition,
                                                  const_dnnl_graph_op_t op,
                                                  dnnl_engine_kind_t ekind)
{
    if (!partition)
        return dnnl_invalid_arguments;
    *partition = NULL;
    if (!op || (ekind != dnnl_cpu && ekind != dnnl_gpu))
        return dnnl_invalid_arguments;
    if (!dg_op_fits(op))
        return dnnl_invalid_graph_op;
    dnnl_graph_op_t copy = dg_op_copy(op);
    if (copy)
        *partition = dg_partition_create(copy, ekind);
    return *partition ? dnnl_success : dnnl_out_of_memory;
}

dnnl_status_t dnnl_graph_partition_destroy(dnnl_graph_partition_t partition)
{
    dg_partition_release(partition);
    return dnnl_success;
}

/* ---- questions ---------------------------------------------------------------------------- */

dnnl_status_t dnnl_graph_partition_get_op_num(const_dnnl_graph_partition_t partition, size_t *num)
{
    if (!partition || !num)
        return dnnl_invalid_arguments;
    *num = 1;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_ops(dnnl_graph_partition_t partition, size_t num,
                                           size_t *ids)
{
    if (!partition || !ids || num != 1)
        return dnnl_invalid_arguments;
    *ids = partition->op->id;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_id(const_dnnl_graph_partition_t partition, size_t *id)
{
    if (!partition || !id)
        return dnnl_invalid_arguments;
    *id = partition->id;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_input_ports_num(const_dnnl_graph_partition_t partition,
                                                       size_t *num)
{
    if (!partition || !num)
        return dnnl_invalid_arguments;
    *num = partition->op->ninputs;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_output_ports_num(const_dnnl_graph_partition_t partition,
                                                        size_t *num)
{
    if (!partition || !num)
        return dnnl_invalid_arguments;
    *num = partition->op->noutputs;
    return dnnl_success;
}

static dnnl_status_t copy_ports(size_t count, const dg_lt *ports, size_t num, dg_lt *out)
{
    if (num != count || (num && !out))
        return dnnl_invalid_arguments;
    for (size_t i = 0; i < num; i++)
        out[i] = ports[i];
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_input_ports(const_dnnl_graph_partition_t partition,
                                                   size_t num, dg_lt *inputs)
{
    if (!partition)
        return dnnl_invalid_arguments;
    return copy_ports(partition->op->ninputs, partition->op->inputs, num, inputs);
}

dnnl_status_t dnnl_graph_partition_get_output_ports(const_dnnl_graph_partition_t partition,
                                                    size_t num, dg_lt *outputs)
{
    if (!partition)
        return dnnl_invalid_arguments;
    return copy_ports(partition->op->noutputs, partition->op->outputs, num, outputs);
}

dnnl_status_t dnnl_graph_partition_is_supported(const_dnnl_graph_partition_t partition,
                                                uint8_t *is_supported)
{
    if (!partition || !is_supported)
        return dnnl_invalid_arguments;
    *is_supported = partition->core != NULL;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_get_engine_kind(const_dnnl_graph_partition_t partition,
                                                   dnnl_engine_kind_t *kind)
{
    if (!partition || !kind)
        return dnnl_invalid_arguments;
    *kind = partition->kind;
    return dnnl_success;
}
