/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/tanh.h - Tanh.
 *
 *     output = tanh(input)
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_TANH_H
#define VJP_COMPAT_INFINIOP_TANH_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopTanhDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateTanhDescriptor(
    infiniopHandle_t handle, infiniopTanhDescriptor_t *desc_ptr, infiniopTensorDescriptor_t output,
    infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetTanhWorkspaceSize(
    infiniopTanhDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopTanh(
    infiniopTanhDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyTanhDescriptor(infiniopTanhDescriptor_t desc);

#endif
