/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/hard_sigmoid_backward.h - the gradient of HardSigmoid.
 *
 *     grad_input = alpha * grad_output where 0 < alpha * input + beta < 1, else +0
 *
 * Tensors, statuses and workspace as for sigmoid_backward.h. InfiniCore does not have it. */
#ifndef VJP_COMPAT_INFINIOP_HARD_SIGMOID_BACKWARD_H
#define VJP_COMPAT_INFINIOP_HARD_SIGMOID_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopHardSigmoidBackwardDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateHardSigmoidBackwardDescriptor(
    infiniopHandle_t handle, infiniopHardSigmoidBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc, float alpha, float beta);

__INFINI_C __export infiniStatus_t infiniopGetHardSigmoidBackwardWorkspaceSize(
    infiniopHardSigmoidBackwardDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopHardSigmoidBackward(
    infiniopHardSigmoidBackwardDescriptor_t desc, void *workspace, size_t workspace_size,
    void *grad_input, const void *input, const void *grad_output, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyHardSigmoidBackwardDescriptor(
    infiniopHardSigmoidBackwardDescriptor_t desc);

#endif
