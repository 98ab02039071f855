/* SPDX-License-Identifier: Apache-2.0 */
/* descriptions.c - logical tensors, made by the library or filled in directly. */
#include "world.h"

enum {
    REACH = 4096, /* elements from the first of a tensor to its last */
    SPANS = 12    /* dims of the largest tensor with memory */
};

/* Change a field as only a program that writes the struct itself can. */
static void bend_description(bytes *b, lt *it)
{
    switch (bytes_below(b, 32)) {
    case 1:
        it->ndims = (int)bytes_number(b);
        break;
    case 2:
        it->dims[bytes_below(b, DNNL_MAX_NDIMS)] = bytes_number(b);
        break;
    case 3:
        it->layout.strides[bytes_below(b, DNNL_MAX_NDIMS)] = bytes_number(b);
        break;
    case 4:
        it->layout_type = (dnnl_graph_layout_type_t)(int32_t)bytes_number(b);
        break;
    case 5:
        it->data_type = (dnnl_data_type_t)(int32_t)bytes_number(b);
        break;
    case 6:
        it->property = dnnl_graph_tensor_property_host_scalar;
        break;
    }
}

void new_description(world *w, bytes *b)
{
    lt *slot = SLOT(w->descriptions), before = *slot;
    size_t id = (size_t)(slot - w->descriptions), size;
    dnnl_dims_t dims, strides;
    dnnl_status_t status;
    uint8_t equal = 2;
    int32_t ndims = bytes_below(b, DNNL_MAX_NDIMS + 3) - 1, how = bytes_below(b, 4);
    dnnl_data_type_t dtype = (dnnl_data_type_t)bytes_below(b, 18);
    dnnl_graph_layout_type_t layout = (dnnl_graph_layout_type_t)bytes_below(b, 4);
    dnnl_graph_tensor_property_t property = (dnnl_graph_tensor_property_t)bytes_below(b, 4);
    for (int i = 0; i < ndims && i < DNNL_MAX_NDIMS; i++) {
        dims[i] = bytes_number(b);
        strides[i] = how == 3 ? bytes_number(b) : (int8_t)bytes_u8(b);
    }
    if (how == 0)
        status = dnnl_graph_logical_tensor_init(slot, id, dtype, ndims, layout, property);
    else if (how == 1)
        status = dnnl_graph_logical_tensor_init_with_dims(slot, id, dtype, ndims, dims, layout,
                                                          property);
    else
        status = dnnl_graph_logical_tensor_init_with_strides(slot, id, dtype, ndims, dims, strides,
                                                             property);
    if (status != dnnl_success)
        expect(!memcmp(slot, &before, sizeof(before)), "a refusal has changed the description");
    bend_description(b, slot);
    expect(dnnl_graph_logical_tensor_get_mem_size(slot, &size) == dnnl_success, "no size");
    expect(dnnl_graph_logical_tensor_is_equal(slot, slot, &equal) == dnnl_success && equal == 1,
           "a description is not equal to itself");
}

int find_extent(const lt *it, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    if (it->layout_type != dnnl_graph_layout_type_strided || it->ndims < 0 || it->ndims > SPANS)
        return 0;
    for (int i = 0; i < it->ndims; i++)
        if (it->dims[i] < 0 || it->dims[i] > REACH)
            return 0;
    for (int i = 0; i < it->ndims; i++) {
        int64_t stride = it->layout.strides[i];
        if (it->dims[i] <= 1)
            continue;
        if (stride < -REACH || stride > REACH)
            return 0;
        *(stride < 0 ? low : high) += (it->dims[i] - 1) * stride;
    }
    return *high - *low < REACH;
}
