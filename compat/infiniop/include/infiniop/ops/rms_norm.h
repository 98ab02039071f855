/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/rms_norm.h - RMSNorm along the last dim.
 *
 *     y = x / sqrt(mean of x^2 + epsilon) * w
 *
 * w is 1-D, of x's dtype, or F32 beside F16 and BF16. y has x's shape and dtype, and may be its
 * memory. Create returns BAD_PARAM if epsilon is negative.
 * Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_RMS_NORM_H
#define VJP_COMPAT_INFINIOP_RMS_NORM_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopRMSNormDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateRMSNormDescriptor(
    infiniopHandle_t handle, infiniopRMSNormDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc,
    infiniopTensorDescriptor_t w_desc, float epsilon);

__INFINI_C __export infiniStatus_t infiniopGetRMSNormWorkspaceSize(
    infiniopRMSNormDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopRMSNorm(
    infiniopRMSNormDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, const void *w, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyRMSNormDescriptor(
    infiniopRMSNormDescriptor_t desc);

#endif
