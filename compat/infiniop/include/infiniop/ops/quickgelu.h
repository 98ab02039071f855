/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/quickgelu.h - quick-GELU.
 *
 *     y = x / (1 + exp(-1.702 * x))
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_QUICKGELU_H
#define VJP_COMPAT_INFINIOP_QUICKGELU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopQuickGeluDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateQuickGeluDescriptor(
    infiniopHandle_t handle, infiniopQuickGeluDescriptor_t *desc_ptr, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);

__INFINI_C __export infiniStatus_t infiniopGetQuickGeluWorkspaceSize(
    infiniopQuickGeluDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopQuickGelu(
    infiniopQuickGeluDescriptor_t desc, void *workspace, size_t workspace_size, void *y,
    const void *x, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyQuickGeluDescriptor(
    infiniopQuickGeluDescriptor_t desc);

#endif
