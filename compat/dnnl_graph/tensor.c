/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tensors: a description and the address of the data.
 *
 * A tensor keeps its engine alive, whose allocator frees the memory that the tensor owns.
 */
#include <stdlib.h>

#include "internal.h"

static int is_scalar(const dg_lt *lt)
{
    return lt->property == dnnl_graph_tensor_property_host_scalar;
}

/* allocate - give the tensor memory of its own. */
static dnnl_status_t allocate(dnnl_graph_tensor_t tensor)
{
    size_t size = dg_lt_size(&tensor->lt);
    if (size == DG_UNKNOWN_SIZE)
        return dnnl_invalid_arguments;
    tensor->handle = NULL;
    tensor->owned = 1;
    if (size)
        tensor->handle = dg_engine_allocate(tensor->engine, size);
    return size && !tensor->handle ? dnnl_out_of_memory : dnnl_success;
}

dnnl_status_t dnnl_graph_tensor_create(dnnl_graph_tensor_t *tensor, const dg_lt *logical_tensor,
                                       dnnl_engine_t engine, void *handle)
{
    if (!tensor || !logical_tensor || !engine || is_scalar(logical_tensor))
        return dnnl_invalid_arguments;
    *tensor = NULL;
    dnnl_graph_tensor_t made = calloc(1, sizeof(*made));
    if (!made)
        return dnnl_out_of_memory;
    made->lt = *logical_tensor;
    made->engine = dg_engine_retain(engine);
    made->handle = handle;
    dnnl_status_t status = handle == DNNL_MEMORY_ALLOCATE ? allocate(made) : dnnl_success;
    if (status) {
        dnnl_graph_tensor_destroy(made);
        return status;
    }
    *tensor = made;
    return dnnl_success;
}

/* As in oneDNN, a scalar has neither a data handle nor an engine. Its value is not kept: no served
 * operation takes one. */
dnnl_status_t dnnl_graph_tensor_create_scalar(dnnl_graph_tensor_t *tensor,
                                              const dg_lt *logical_tensor, void *handle)
{
    if (!tensor || !logical_tensor || !handle || handle == DNNL_MEMORY_ALLOCATE ||
        !is_scalar(logical_tensor) || logical_tensor->ndims != 0)
        return dnnl_invalid_arguments;
    *tensor = NULL;
    dnnl_graph_tensor_t made = calloc(1, sizeof(*made));
    if (!made)
        return dnnl_out_of_memory;
    made->lt = *logical_tensor;
    *tensor = made;
    return dnnl_success;
}

static void free_owned(dnnl_graph_tensor_t tensor)
{
    if (tensor->owned)
        dg_engine_deallocate(tensor->engine, tensor->handle);
    tensor->owned = 0;
}

dnnl_status_t dnnl_graph_tensor_destroy(dnnl_graph_tensor_t tensor)
{
    if (tensor) {
        free_owned(tensor);
        dg_engine_release(tensor->engine);
        free(tensor);
    }
    return dnnl_success;
}

dnnl_status_t dnnl_graph_tensor_get_data_handle(const_dnnl_graph_tensor_t tensor, void **handle)
{
    if (!tensor || !handle)
        return dnnl_invalid_arguments;
    *handle = tensor->handle;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_tensor_set_data_handle(dnnl_graph_tensor_t tensor, void *handle)
{
    if (!tensor || is_scalar(&tensor->lt) || handle == DNNL_MEMORY_ALLOCATE)
        return dnnl_invalid_arguments;
    if (tensor->owned && handle == tensor->handle)
        return dnnl_success;
    free_owned(tensor);
    tensor->handle = handle;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_tensor_get_engine(const_dnnl_graph_tensor_t tensor, dnnl_engine_t *engine)
{
    if (!tensor || !engine)
        return dnnl_invalid_arguments;
    *engine = tensor->engine;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_tensor_get_logical_tensor(const_dnnl_graph_tensor_t tensor,
                                                   dg_lt *logical_tensor)
{
    if (!tensor || !logical_tensor)
        return dnnl_invalid_arguments;
    *logical_tensor = tensor->lt;
    return dnnl_success;
}
