/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/log_softmax.h - the logarithm of Softmax.
 *
 *     output = input - max - log(sum of exp(input - max)) along dim
 *
 * dim and tensors as axis and tensors of softmax.h.
 * Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_LOG_SOFTMAX_H
#define VJP_COMPAT_INFINIOP_LOG_SOFTMAX_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopLogSoftmaxDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateLogSoftmaxDescriptor(
    infiniopHandle_t handle, infiniopLogSoftmaxDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input, int dim);

__INFINI_C __export infiniStatus_t infiniopGetLogSoftmaxWorkspaceSize(
    infiniopLogSoftmaxDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopLogSoftmax(
    infiniopLogSoftmaxDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyLogSoftmaxDescriptor(
    infiniopLogSoftmaxDescriptor_t desc);

#endif
