/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/sigmoid.h - Sigmoid.
 *
 *     y = 1 / (1 + exp(-x))
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SIGMOID_H
#define VJP_COMPAT_INFINIOP_SIGMOID_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSigmoidDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSigmoidDescriptor(
    infiniopHandle_t handle, infiniopSigmoidDescriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);

__INFINI_C __export infiniStatus_t infiniopGetSigmoidWorkspaceSize(
    infiniopSigmoidDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSigmoid(
    infiniopSigmoidDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySigmoidDescriptor(
    infiniopSigmoidDescriptor_t desc);

#endif
