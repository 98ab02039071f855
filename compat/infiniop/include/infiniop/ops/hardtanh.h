/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/hardtanh.h - HardTanh.
 *
 *     output = min(max(input, min_val), max_val)
 *
 * Create returns BAD_PARAM unless min_val <= max_val. The tensors share one shape and one dtype,
 * and the output may be the input's memory. Statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_HARDTANH_H
#define VJP_COMPAT_INFINIOP_HARDTANH_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopHardTanhDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateHardTanhDescriptor(
    infiniopHandle_t handle, infiniopHardTanhDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input, float min_val,
    float max_val);

__INFINI_C __export infiniStatus_t infiniopGetHardTanhWorkspaceSize(
    infiniopHardTanhDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopHardTanh(
    infiniopHardTanhDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyHardTanhDescriptor(
    infiniopHardTanhDescriptor_t desc);

#endif
