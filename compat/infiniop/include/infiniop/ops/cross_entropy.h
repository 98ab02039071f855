/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/cross_entropy.h - the cross-entropy of logits and labels, one loss for each row.
 *
 *     y = log(sum of exp(x)) - x[target] along the last dim, 0 where target is no class
 *
 * target is I32 or I64 and has, like y, the shape of x without the last dim. y has x's dtype, or is
 * F32 beside F16 and BF16.
 * Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_CROSS_ENTROPY_H
#define VJP_COMPAT_INFINIOP_CROSS_ENTROPY_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopCrossEntropyDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateCrossEntropyDescriptor(
    infiniopHandle_t handle, infiniopCrossEntropyDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t target_desc);

__INFINI_C __export infiniStatus_t infiniopGetCrossEntropyWorkspaceSize(
    infiniopCrossEntropyDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopCrossEntropy(
    infiniopCrossEntropyDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, const void *target, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyCrossEntropyDescriptor(
    infiniopCrossEntropyDescriptor_t desc);

#endif
