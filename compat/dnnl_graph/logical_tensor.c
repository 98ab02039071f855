/* SPDX-License-Identifier: Apache-2.0 */
/* logical_tensor.c - descriptions of tensors: how they are made, compared and measured.
 *
 * They come from the caller and are not trusted: every product is checked for overflow. A negative
 * stride would put elements before the address of the data, where get_mem_size promises none, so
 * it is refused.
 */
#include "internal.h"

#include <string.h>

#define UNKNOWN DNNL_GRAPH_UNKNOWN_DIM

/* ---- questions ---------------------------------------------------------------------------- */

int dg_lt_dense_strides(int ndims, const int64_t *dims, int64_t *strides)
{
    int64_t step = 1;
    for (int i = ndims - 1; i >= 0; i--) {
        strides[i] = step;
        if (__builtin_mul_overflow(step, dims[i] ? dims[i] : 1, &step))
            return 0;
    }
    return 1;
}

int dg_lt_has_dims(const dg_lt *lt)
{
    if (lt->ndims < 0 || lt->ndims > DNNL_MAX_NDIMS)
        return 0;
    for (int i = 0; i < lt->ndims; i++)
        if (lt->dims[i] < 0)
            return 0;
    return 1;
}

int dg_lt_has_strides(const dg_lt *lt)
{
    if (lt->layout_type != dnnl_graph_layout_type_strided || !dg_lt_has_dims(lt))
        return 0;
    for (int i = 0; i < lt->ndims; i++)
        if (lt->layout.strides[i] < 0) /* UNKNOWN is negative too */
            return 0;
    return 1;
}

int dg_lt_has_negative_stride(const dg_lt *lt)
{
    if (lt->layout_type != dnnl_graph_layout_type_strided)
        return 0;
    for (int i = 0; i < lt->ndims; i++)
        if (lt->layout.strides[i] < 0 && lt->layout.strides[i] != UNKNOWN)
            return 1;
    return 0;
}

int dg_lt_same_shape(const dg_lt *a, const dg_lt *b)
{
    return a->ndims == b->ndims &&
           memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof(a->dims[0])) == 0;
}

int dg_lt_same_strides(const dg_lt *a, const dg_lt *b)
{
    for (int i = 0; i < a->ndims; i++)
        if (a->dims[i] != 1 && a->layout.strides[i] != b->layout.strides[i])
            return 0;
    return 1;
}

int dg_lt_equal(const dg_lt *a, const dg_lt *b)
{
    if (a->id != b->id || a->data_type != b->data_type || a->ndims != b->ndims ||
        a->property != b->property || a->layout_type != b->layout_type)
        return 0;
    if (a->layout_type == dnnl_graph_layout_type_opaque &&
        a->layout.layout_id != b->layout.layout_id)
        return 0;
    for (int i = 0; i < a->ndims && i < DNNL_MAX_NDIMS; i++) {
        if (a->dims[i] != b->dims[i])
            return 0;
        if (a->layout_type == dnnl_graph_layout_type_strided &&
            a->layout.strides[i] != b->layout.strides[i])
            return 0;
    }
    return 1;
}

/* bytes_of - the size of that many elements; DG_UNKNOWN_SIZE if it does not fit. */
static size_t bytes_of(dnnl_data_type_t dtype, size_t count)
{
    size_t size = 1;
    switch (dtype) {
    case dnnl_f64:
    case dnnl_s64:
        size = 8;
        break;
    case dnnl_f32:
    case dnnl_s32:
        size = 4;
        break;
    case dnnl_f16:
    case dnnl_bf16:
        size = 2;
        break;
    case dnnl_s4:
    case dnnl_u4:
    case dnnl_f4_e2m1:
    case dnnl_f4_e3m0:
        return count / 2 + count % 2;
    case dnnl_data_type_undef:
    case dnnl_data_type_max:
        return 0;
    default:
        break;
    }
    return __builtin_mul_overflow(size, count, &size) ? DG_UNKNOWN_SIZE : size;
}

size_t dg_lt_size(const dg_lt *lt)
{
    if (!dg_lt_has_strides(lt))
        return DG_UNKNOWN_SIZE;
    /* As in oneDNN, the largest dim * stride, so that the padding after the last row counts; but
     * never less than the elements span, which it would be for dims that interleave. */
    int64_t padded = 1, span = 1;
    for (int i = 0; i < lt->ndims; i++) {
        int64_t dim = lt->dims[i], stride = lt->layout.strides[i], reach;
        if (dim == 0)
            return 0;
        if (dim == 1)
            continue;
        if (__builtin_mul_overflow(dim - 1, stride, &reach) ||
            __builtin_add_overflow(span, reach, &span) ||
            __builtin_add_overflow(reach, stride, &reach))
            return DG_UNKNOWN_SIZE;
        padded = reach > padded ? reach : padded;
    }
    return bytes_of(lt->data_type, (size_t)(padded > span ? padded : span));
}

/* ---- the API ------------------------------------------------------------------------------ */

dnnl_status_t dnnl_graph_logical_tensor_init(dg_lt *logical_tensor, size_t tid,
                                             dnnl_data_type_t dtype, int32_t ndims,
                                             dnnl_graph_layout_type_t ltype,
                                             dnnl_graph_tensor_property_t ptype)
{
    if (!logical_tensor || ndims > DNNL_MAX_NDIMS)
        return dnnl_invalid_arguments;
    if (ptype == dnnl_graph_tensor_property_host_scalar &&
        (ndims != 0 || (dtype != dnnl_s32 && dtype != dnnl_s64 && dtype != dnnl_f32)))
        return dnnl_invalid_arguments;
    memset(logical_tensor, 0, sizeof(*logical_tensor));
    logical_tensor->id = tid;
    logical_tensor->ndims = ndims;
    logical_tensor->data_type = dtype;
    logical_tensor->property = ptype;
    logical_tensor->layout_type = ltype;
    for (int i = ndims == 0; i < DNNL_MAX_NDIMS; i++) {
        logical_tensor->dims[i] = UNKNOWN;
        logical_tensor->layout.strides[i] = UNKNOWN;
    }
    return dnnl_success;
}

dnnl_status_t dnnl_graph_logical_tensor_init_with_dims(dg_lt *logical_tensor, size_t tid,
                                                       dnnl_data_type_t dtype, int32_t ndims,
                                                       const dnnl_dims_t dims,
                                                       dnnl_graph_layout_type_t ltype,
                                                       dnnl_graph_tensor_property_t ptype)
{
    if (ndims < 0 || (ndims > 0 && !dims))
        return dnnl_invalid_arguments;
    dg_lt made;
    dnnl_status_t status = dnnl_graph_logical_tensor_init(&made, tid, dtype, ndims, ltype, ptype);
    if (status || !logical_tensor)
        return dnnl_invalid_arguments;
    for (int i = 0; i < ndims; i++)
        made.dims[i] = dims[i];
    if (ltype == dnnl_graph_layout_type_strided && dg_lt_has_dims(&made) &&
        !dg_lt_dense_strides(ndims, made.dims, made.layout.strides))
        return dnnl_invalid_arguments;
    *logical_tensor = made;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_logical_tensor_init_with_strides(dg_lt *logical_tensor, size_t tid,
                                                          dnnl_data_type_t dtype, int32_t ndims,
                                                          const dnnl_dims_t dims,
                                                          const dnnl_dims_t strides,
                                                          dnnl_graph_tensor_property_t ptype)
{
    if (!logical_tensor || (ndims > 0 && !strides))
        return dnnl_invalid_arguments;
    dg_lt made;
    dnnl_status_t status = dnnl_graph_logical_tensor_init_with_dims(
        &made, tid, dtype, ndims, dims, dnnl_graph_layout_type_any, ptype);
    if (status)
        return status;
    made.layout_type = dnnl_graph_layout_type_strided;
    for (int i = 0; i < ndims; i++)
        made.layout.strides[i] = strides[i];
    if (dg_lt_has_negative_stride(&made))
        return dnnl_invalid_arguments;
    *logical_tensor = made;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_logical_tensor_get_mem_size(const dg_lt *logical_tensor, size_t *size)
{
    if (!logical_tensor || !size)
        return dnnl_invalid_arguments;
    *size = dg_lt_size(logical_tensor);
    return dnnl_success;
}

dnnl_status_t dnnl_graph_logical_tensor_is_equal(const dg_lt *lt1, const dg_lt *lt2,
                                                 uint8_t *is_equal)
{
    if (!lt1 || !lt2 || !is_equal)
        return dnnl_invalid_arguments;
    *is_equal = (uint8_t)dg_lt_equal(lt1, lt2);
    return dnnl_success;
}
