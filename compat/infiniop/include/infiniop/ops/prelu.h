/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/prelu.h - PReLU.
 *
 *     y = x where x > 0, else weight * x
 *
 * x and y share one shape. weight is 1-D, one element per channel (dim 1 of x, as in PyTorch); or
 * one element; or aligned with x at the right, each dim equal or 1. It may be F32 beside F16 and
 * BF16 data. Statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_PRELU_H
#define VJP_COMPAT_INFINIOP_PRELU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopPreluDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreatePreluDescriptor(
    infiniopHandle_t handle, infiniopPreluDescriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x, infiniopTensorDescriptor_t weight);

__INFINI_C __export infiniStatus_t infiniopGetPreluWorkspaceSize(
    infiniopPreluDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopPrelu(
    infiniopPreluDescriptor_t desc, void *workspace, size_t workspace_size, void *y, const void *x,
    const void *weight, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyPreluDescriptor(infiniopPreluDescriptor_t desc);

#endif
