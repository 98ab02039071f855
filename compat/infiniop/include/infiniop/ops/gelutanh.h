/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/gelutanh.h - the tanh form of GELU.
 *
 *     y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_GELUTANH_H
#define VJP_COMPAT_INFINIOP_GELUTANH_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopGeluTanhDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateGeluTanhDescriptor(
    infiniopHandle_t handle, infiniopGeluTanhDescriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);

__INFINI_C __export infiniStatus_t infiniopGetGeluTanhWorkspaceSize(
    infiniopGeluTanhDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopGeluTanh(
    infiniopGeluTanhDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyGeluTanhDescriptor(
    infiniopGeluTanhDescriptor_t desc);

#endif
