/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/selu.h - SELU.
 *
 *     y = scale * x where x > 0, else scale * alpha * (exp(x) - 1)
 *     alpha = 1.6732632423543772, scale = 1.0507009873554805
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SELU_H
#define VJP_COMPAT_INFINIOP_SELU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSeluDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSeluDescriptor(
    infiniopHandle_t handle, infiniopSeluDescriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);

__INFINI_C __export infiniStatus_t infiniopGetSeluWorkspaceSize(
    infiniopSeluDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSelu(
    infiniopSeluDescriptor_t desc, void *workspace, size_t workspace_size, void *y, const void *x,
    void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySeluDescriptor(infiniopSeluDescriptor_t desc);

#endif
