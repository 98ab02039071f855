/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/gelu.h - GELU.
 *
 *     output = input / 2 * (1 + erf(input / sqrt(2)))
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_GELU_H
#define VJP_COMPAT_INFINIOP_GELU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopGeluDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateGeluDescriptor(
    infiniopHandle_t handle, infiniopGeluDescriptor_t *desc_ptr, infiniopTensorDescriptor_t output,
    infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetGeluWorkspaceSize(
    infiniopGeluDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopGelu(
    infiniopGeluDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyGeluDescriptor(infiniopGeluDescriptor_t desc);

#endif
