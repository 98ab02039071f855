/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/softplus.h - Softplus.
 *
 *     y = log(1 + exp(beta * x)) / beta
 *
 * threshold is ignored: the result is exact to a few ULP without one. Create returns BAD_PARAM if
 * beta is 0. The tensors share one shape and one dtype, and the output may be the input's memory.
 * Statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SOFTPLUS_H
#define VJP_COMPAT_INFINIOP_SOFTPLUS_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSoftplusDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSoftplusDescriptor(
    infiniopHandle_t handle, infiniopSoftplusDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t y_desc, infiniopTensorDescriptor_t x_desc, float beta,
    float threshold);

__INFINI_C __export infiniStatus_t infiniopGetSoftplusWorkspaceSize(
    infiniopSoftplusDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSoftplus(
    infiniopSoftplusDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySoftplusDescriptor(
    infiniopSoftplusDescriptor_t desc);

#endif
