/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/relu_backward.h - the gradient of ReLU.
 *
 *     grad_input = grad_output where input > 0, else +0
 *
 * input may be what the forward pass read or what it wrote: they are positive in the same places.
 * Tensors, statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_RELU_BACKWARD_H
#define VJP_COMPAT_INFINIOP_RELU_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopReluBackwardDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateReluBackwardDescriptor(
    infiniopHandle_t handle, infiniopReluBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc);

__INFINI_C __export infiniStatus_t infiniopGetReluBackwardWorkspaceSize(
    infiniopReluBackwardDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopReluBackward(
    infiniopReluBackwardDescriptor_t desc, void *workspace, size_t workspace_size, void *grad_input,
    const void *input, const void *grad_output, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyReluBackwardDescriptor(
    infiniopReluBackwardDescriptor_t desc);

#endif
