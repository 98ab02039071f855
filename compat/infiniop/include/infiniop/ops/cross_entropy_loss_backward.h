/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/cross_entropy_loss_backward.h - the gradient of CrossEntropy.
 *
 *     grad_logits = grad_loss * (softmax(logits) - [at the target] 1) along the last dim, +0 where target
 *                   is no class
 *
 * target and grad_loss have the shape of logits without the last dim: target is I32 or I64,
 * grad_loss has the dtype of logits or is F32 beside F16 and BF16. grad_logits may be the memory of
 * logits. Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes.
 * InfiniCore does not have it. */
#ifndef VJP_COMPAT_INFINIOP_CROSS_ENTROPY_LOSS_BACKWARD_H
#define VJP_COMPAT_INFINIOP_CROSS_ENTROPY_LOSS_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopCrossEntropyLossBackwardDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateCrossEntropyLossBackwardDescriptor(
    infiniopHandle_t handle, infiniopCrossEntropyLossBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_logits_desc, infiniopTensorDescriptor_t logits_desc,
    infiniopTensorDescriptor_t target_desc, infiniopTensorDescriptor_t grad_loss_desc);

__INFINI_C __export infiniStatus_t infiniopGetCrossEntropyLossBackwardWorkspaceSize(
    infiniopCrossEntropyLossBackwardDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopCrossEntropyLossBackward(
    infiniopCrossEntropyLossBackwardDescriptor_t desc, void *workspace, size_t workspace_size,
    void *grad_logits, const void *logits, const void *target, const void *grad_loss,
    void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyCrossEntropyLossBackwardDescriptor(
    infiniopCrossEntropyLossBackwardDescriptor_t desc);

#endif
