/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/tanhshrink.h - Tanhshrink.
 *
 *     output = input - tanh(input)
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_TANHSHRINK_H
#define VJP_COMPAT_INFINIOP_TANHSHRINK_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopTanhshrinkDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateTanhshrinkDescriptor(
    infiniopHandle_t handle, infiniopTanhshrinkDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetTanhshrinkWorkspaceSize(
    infiniopTanhshrinkDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopTanhshrink(
    infiniopTanhshrinkDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyTanhshrinkDescriptor(
    infiniopTanhshrinkDescriptor_t desc);

#endif
