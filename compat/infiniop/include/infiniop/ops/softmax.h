/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/softmax.h - Softmax.
 *
 *     y = exp(x - max) / sum of exp(x - max) along axis
 *
 * axis counts from the end if it is negative; Create returns BAD_PARAM if it is out of range. The
 * tensors share one shape; y may be F32 beside F16 and BF16, and x's memory if their dtypes agree.
 * Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_SOFTMAX_H
#define VJP_COMPAT_INFINIOP_SOFTMAX_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSoftmaxDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSoftmaxDescriptor(
    infiniopHandle_t handle, infiniopSoftmaxDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc, int axis);

__INFINI_C __export infiniStatus_t infiniopGetSoftmaxWorkspaceSize(
    infiniopSoftmaxDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSoftmax(
    infiniopSoftmaxDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySoftmaxDescriptor(
    infiniopSoftmaxDescriptor_t desc);

#endif
