/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - compiled partitions: queries and execution.
 *
 * Executing reads the compilation and the tensors and writes nothing of ours, so that many threads
 * may execute one compiled partition at once. With a scratchpad of the caller's it allocates
 * nothing.
 */
#include <stdlib.h>

#include "internal.h"

dnnl_status_t
dnnl_graph_compiled_partition_create(dnnl_graph_compiled_partition_t *compiled_partition,
                                     dnnl_graph_partition_t partition)
{
    if (!compiled_partition || !partition)
        return dnnl_invalid_arguments;
    *compiled_partition = calloc(1, sizeof(**compiled_partition));
    if (!*compiled_partition)
        return dnnl_out_of_memory;
    (*compiled_partition)->partition = dg_partition_retain(partition);
    return dnnl_success;
}

dnnl_status_t
dnnl_graph_compiled_partition_destroy(dnnl_graph_compiled_partition_t compiled_partition)
{
    if (compiled_partition) {
        dg_compilation_destroy(compiled_partition->compilation);
        dg_partition_release(compiled_partition->partition);
        free(compiled_partition);
    }
    return dnnl_success;
}

/* ---- questions ---------------------------------------------------------------------------- */

static const dg_compilation *compilation_of(const_dnnl_graph_compiled_partition_t compiled)
{
    return compiled ? compiled->compilation : NULL;
}

dnnl_status_t dnnl_graph_compiled_partition_query_logical_tensor(
    const_dnnl_graph_compiled_partition_t compiled_partition, size_t tid, dg_lt *lt)
{
    const dg_compilation *c = compilation_of(compiled_partition);
    if (!c || !lt)
        return dnnl_invalid_arguments;
    for (size_t i = 0; i < c->ninputs + c->noutputs; i++) {
        if (c->tensors[i].id == tid) {
            *lt = c->tensors[i];
            return dnnl_success;
        }
    }
    return dnnl_invalid_arguments;
}

dnnl_status_t dnnl_graph_compiled_partition_get_inplace_ports(
    const_dnnl_graph_compiled_partition_t compiled_partition, size_t *num_inplace_pairs,
    const dnnl_graph_inplace_pair_t **inplace_pairs)
{
    const dg_compilation *c = compilation_of(compiled_partition);
    if (!c || !num_inplace_pairs || !inplace_pairs)
        return dnnl_invalid_arguments;
    *num_inplace_pairs = c->npairs;
    *inplace_pairs = c->npairs ? c->pairs : NULL;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
    const_dnnl_graph_compiled_partition_t compiled_partition, dg_lt *lt)
{
    const dg_compilation *c = compilation_of(compiled_partition);
    if (!c || !lt)
        return dnnl_invalid_arguments;
    const dnnl_dims_t dims = { (int64_t)c->workspace_size };
    return dnnl_graph_logical_tensor_init_with_dims(lt, SIZE_MAX, dnnl_u8, 1, dims,
                                                    dnnl_graph_layout_type_strided,
                                                    dnnl_graph_tensor_property_variable);
}

/* ---- execution ---------------------------------------------------------------------------- */

/* is_tensor - whether a tensor is as it was described when the partition was compiled. */
static int is_tensor(const_dnnl_graph_tensor_t tensor, const dg_lt *wanted)
{
    const dg_lt *lt = &tensor->lt;
    if (lt->data_type != wanted->data_type || !dg_lt_has_dims(lt) || !dg_lt_same_shape(lt, wanted))
        return 0;
    if (lt->layout_type == dnnl_graph_layout_type_any)
        return 1;
    return lt->layout_type == dnnl_graph_layout_type_strided && dg_lt_same_strides(lt, wanted);
}

static int have_ids(size_t count, const const_dnnl_graph_tensor_t *tensors, const dg_lt *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (!tensors[i] || tensors[i]->lt.id != wanted[i].id)
            return 0;
    return 1;
}

/* collect_buffers - the data of vjp's tensors, NULL for those not given; 0 if the tensors are not
 * those compiled for. */
static int collect_buffers(const dg_compilation *c, const vjp_op_info *core,
                           const const_dnnl_graph_tensor_t *inputs,
                           const const_dnnl_graph_tensor_t *outputs, void **buffers)
{
    if (!have_ids(c->ninputs, inputs, c->tensors) ||
        !have_ids(c->noutputs, outputs, c->tensors + c->ninputs))
        return 0;
    for (int32_t i = 0; i < core->ninputs + core->noutputs; i++) {
        size_t j = c->source[i];
        buffers[i] = NULL;
        if (j == DG_NOT_GIVEN)
            continue;
        const_dnnl_graph_tensor_t tensor = j < c->ninputs ? inputs[j] : outputs[j - c->ninputs];
        if (!is_tensor(tensor, &c->tensors[j]))
            return 0;
        buffers[i] = tensor->handle;
    }
    return 1;
}

/* run - with a scratchpad; buffers are vjp's inputs, then its outputs. */
static dnnl_status_t run(const dg_compilation *c, int32_t ninputs, void *const *buffers,
                         void *workspace, size_t size)
{
    return dg_status_of(vjp_plan_run(c->plan, (const void *const *)buffers, buffers + ninputs,
                                     workspace, size, NULL));
}

/* run_on_own - run with a scratchpad of the engine's. */
static dnnl_status_t run_on_own(const dg_compilation *c, int32_t ninputs, void *const *buffers)
{
    void *workspace = NULL;
    if (c->workspace_size) {
        workspace = dg_engine_allocate(c->engine, c->workspace_size);
        if (!workspace)
            return dnnl_out_of_memory;
    }
    dnnl_status_t status = run(c, ninputs, buffers, workspace, c->workspace_size);
    dg_engine_deallocate(c->engine, workspace);
    return status;
}

dnnl_status_t dnnl_graph_compiled_partition_execute_v2(
    const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream,
    size_t num_inputs, const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
    const_dnnl_graph_tensor_t *outputs, const_dnnl_graph_tensor_t scratchpad)
{
    const dg_compilation *c = compilation_of(compiled_partition);
    if (!c || !stream || !inputs || !outputs || stream->engine->kind != c->engine->kind ||
        num_inputs != c->ninputs || num_outputs != c->noutputs)
        return dnnl_invalid_arguments;
    const vjp_op_info *core = compiled_partition->partition->core;
    void *buffers[DG_MAX_TENSORS];
    if (!collect_buffers(c, core, inputs, outputs, buffers))
        return dnnl_invalid_arguments;
    if (!scratchpad)
        return run_on_own(c, core->ninputs, buffers);
    size_t size = dg_lt_size(&scratchpad->lt);
    if (size == DG_UNKNOWN_SIZE)
        size = 0;
    return run(c, core->ninputs, buffers, scratchpad->handle, size);
}

dnnl_status_t
dnnl_graph_compiled_partition_execute(const_dnnl_graph_compiled_partition_t compiled_partition,
                                      dnnl_stream_t stream, size_t num_inputs,
                                      const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
                                      const_dnnl_graph_tensor_t *outputs)
{
    return dnnl_graph_compiled_partition_execute_v2(compiled_partition, stream, num_inputs, inputs,
                                                    num_outputs, outputs, NULL);
}
