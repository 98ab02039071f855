/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - the helpers that describe tensors. */
#include <string.h>

#include "core/internal.h"

static const vjpi_reason unsaid = { NULL, 0 };

vjp_status vjp_tensor_strided(vjp_dtype dtype, int32_t ndim, const int64_t *shape,
                              const int64_t *strides, vjp_tensor *tensor)
{
    vjp_tensor made = { .struct_size = sizeof(vjp_tensor), .dtype = dtype, .ndim = ndim };
    vjp_status status;
    if (!tensor || (ndim > 0 && (!shape || !strides)))
        return VJP_BAD_ARGUMENT;
    if (ndim > 0 && ndim <= VJP_MAX_DIMS) {
        memcpy(made.shape, shape, (size_t)ndim * sizeof(*shape));
        memcpy(made.strides, strides, (size_t)ndim * sizeof(*strides));
    }
    status = vjpi_check_tensor("tensor", &made, unsaid);
    if (status == VJP_OK)
        *tensor = made;
    return status;
}

vjp_status vjp_tensor_contiguous(vjp_dtype dtype, int32_t ndim, const int64_t *shape,
                                 vjp_tensor *tensor)
{
    int64_t strides[VJP_MAX_DIMS], stride = 1;
    if (ndim > 0 && !shape)
        return VJP_BAD_ARGUMENT;
    if (ndim < 0 || ndim > VJP_MAX_DIMS)
        return VJP_BAD_SHAPE;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        strides[d] = stride;
        if (shape[d] > 1 && __builtin_mul_overflow(stride, shape[d], &stride))
            stride = 0; /* refused below by its count, unless it is empty and has no use for it */
    }
    return vjp_tensor_strided(dtype, ndim, shape, strides, tensor);
}

vjp_status vjp_tensor_broadcast(const vjp_tensor *tensor, int32_t ndim, const int64_t *shape,
                                vjp_tensor *view)
{
    int64_t strides[VJP_MAX_DIMS];
    vjp_tensor from;
    vjp_status status;
    if (!tensor || (ndim > 0 && !shape))
        return VJP_BAD_ARGUMENT;
    status = vjpi_copy_struct(&from, sizeof(from), sizeof(from), tensor, tensor->struct_size,
                              "tensor", unsaid);
    if (status != VJP_OK || (status = vjpi_check_tensor("tensor", &from, unsaid)) != VJP_OK)
        return status;
    if (ndim > VJP_MAX_DIMS || ndim < from.ndim)
        return VJP_BAD_SHAPE;
    for (int32_t d = 0; d < ndim; d++) {
        int32_t own = d - (ndim - from.ndim);
        bool repeated = own < 0 || (from.shape[own] == 1 && shape[d] != 1);
        if (!repeated && from.shape[own] != shape[d])
            return VJP_BAD_SHAPE;
        strides[d] = repeated ? 0 : from.strides[own];
    }
    return vjp_tensor_strided(from.dtype, ndim, shape, strides, view);
}
