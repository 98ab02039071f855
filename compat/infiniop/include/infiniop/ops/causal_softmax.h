/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/causal_softmax.h - Softmax along the last dim, up to the diagonal.
 *
 * Of the rows along the dim before the last, the last one is whole and each one before it ends one
 * element earlier. What is behind a row's end is not read, and y is +0 there. Tensors as for
 * softmax.h. Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_CAUSAL_SOFTMAX_H
#define VJP_COMPAT_INFINIOP_CAUSAL_SOFTMAX_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopCausalSoftmaxDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateCausalSoftmaxDescriptor(
    infiniopHandle_t handle, infiniopCausalSoftmaxDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc);

__INFINI_C __export infiniStatus_t infiniopGetCausalSoftmaxWorkspaceSize(
    infiniopCausalSoftmaxDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopCausalSoftmax(
    infiniopCausalSoftmaxDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyCausalSoftmaxDescriptor(
    infiniopCausalSoftmaxDescriptor_t desc);

#endif
