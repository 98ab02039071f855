/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/prelu_backward.h - the two gradients of PReLU, of its input and of its slope.
 *
 *     grad_input = grad_output where input > 0, else grad_output * slope
 *     grad_slope = sum of (0 where input > 0, else grad_output * input)
 *
 * input, grad_output and grad_input share one shape. slope and grad_slope share another: 1-D, one
 * element per channel (dim 1 of input, as in PyTorch); or one element; or aligned with input at the
 * right, each dim equal or 1. They may be F32 beside F16 and BF16 data. Statuses as for
 * sigmoid_backward.h; the workspace may be more than 0 bytes. InfiniCore does not have it. */
#ifndef VJP_COMPAT_INFINIOP_PRELU_BACKWARD_H
#define VJP_COMPAT_INFINIOP_PRELU_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopPReluBackwardDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreatePReluBackwardDescriptor(
    infiniopHandle_t handle, infiniopPReluBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t grad_slope_desc,
    infiniopTensorDescriptor_t input_desc, infiniopTensorDescriptor_t slope_desc,
    infiniopTensorDescriptor_t grad_output_desc);

__INFINI_C __export infiniStatus_t infiniopGetPReluBackwardWorkspaceSize(
    infiniopPReluBackwardDescriptor_t desc, size_t *size);

/* INSUFFICIENT_WORKSPACE if workspace is NULL or smaller than infiniopGetPReluBackwardWorkspaceSize
 * says. grad_slope may be the memory of slope. */
__INFINI_C __export infiniStatus_t infiniopPReluBackward(
    infiniopPReluBackwardDescriptor_t desc, void *workspace, size_t workspace_size,
    void *grad_input, void *grad_slope, const void *input, const void *slope,
    const void *grad_output, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyPReluBackwardDescriptor(
    infiniopPReluBackwardDescriptor_t desc);

#endif
