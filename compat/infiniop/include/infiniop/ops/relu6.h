/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/relu6.h - ReLU6.
 *
 *     y = min(max(x, 0), 6)
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_RELU6_H
#define VJP_COMPAT_INFINIOP_RELU6_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopRelu6Descriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateRelu6Descriptor(
    infiniopHandle_t handle, infiniopRelu6Descriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);

__INFINI_C __export infiniStatus_t infiniopGetRelu6WorkspaceSize(
    infiniopRelu6Descriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopRelu6(
    infiniopRelu6Descriptor_t desc, void *workspace, size_t workspace_size, void *y, const void *x,
    void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyRelu6Descriptor(infiniopRelu6Descriptor_t desc);

#endif
