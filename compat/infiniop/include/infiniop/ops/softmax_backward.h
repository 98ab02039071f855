/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/softmax_backward.h - the gradient of Softmax, from its output.
 *
 *     grad_input = output * (grad_output - sum of grad_output * output along axis)
 *
 * axis counts from the end if it is negative. grad_input may be F32 beside F16 and BF16 inputs.
 * Otherwise tensors and statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes.
 * InfiniCore does not have it. */
#ifndef VJP_COMPAT_INFINIOP_SOFTMAX_BACKWARD_H
#define VJP_COMPAT_INFINIOP_SOFTMAX_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSoftmaxBackwardDescriptor_t;

/* BAD_PARAM also if axis is out of range. */
__INFINI_C __export infiniStatus_t infiniopCreateSoftmaxBackwardDescriptor(
    infiniopHandle_t handle, infiniopSoftmaxBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t output_desc,
    infiniopTensorDescriptor_t grad_output_desc, int axis);

__INFINI_C __export infiniStatus_t infiniopGetSoftmaxBackwardWorkspaceSize(
    infiniopSoftmaxBackwardDescriptor_t desc, size_t *size);

/* INSUFFICIENT_WORKSPACE if workspace is NULL or smaller than
 * infiniopGetSoftmaxBackwardWorkspaceSize says. */
__INFINI_C __export infiniStatus_t infiniopSoftmaxBackward(
    infiniopSoftmaxBackwardDescriptor_t desc, void *workspace, size_t workspace_size,
    void *grad_input, const void *output, const void *grad_output, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySoftmaxBackwardDescriptor(
    infiniopSoftmaxBackwardDescriptor_t desc);

#endif
