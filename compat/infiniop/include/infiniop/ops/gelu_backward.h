/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/gelu_backward.h - the gradient of the tanh form of GELU, from its input.
 *
 *     u = sqrt(2 / pi) * (input + 0.044715 * input^3)
 *     grad_input = grad_output / 2 * (1 + tanh(u) + input * (1 - tanh(u)^2) * du/dinput)
 *
 * Tensors, statuses and workspace as for sigmoid_backward.h. InfiniCore does not have it. */
#ifndef VJP_COMPAT_INFINIOP_GELU_BACKWARD_H
#define VJP_COMPAT_INFINIOP_GELU_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopGeluBackwardDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateGeluBackwardDescriptor(
    infiniopHandle_t handle, infiniopGeluBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc);

__INFINI_C __export infiniStatus_t infiniopGetGeluBackwardWorkspaceSize(
    infiniopGeluBackwardDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopGeluBackward(
    infiniopGeluBackwardDescriptor_t desc, void *workspace, size_t workspace_size, void *grad_input,
    const void *input, const void *grad_output, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyGeluBackwardDescriptor(
    infiniopGeluBackwardDescriptor_t desc);

#endif
