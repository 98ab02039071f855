/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/hardswish.h - HardSwish.
 *
 *     output = input * min(max(input + 3, 0), 6) / 6
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_HARDSWISH_H
#define VJP_COMPAT_INFINIOP_HARDSWISH_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopHardSwishDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateHardSwishDescriptor(
    infiniopHandle_t handle, infiniopHardSwishDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetHardSwishWorkspaceSize(
    infiniopHardSwishDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopHardSwish(
    infiniopHardSwishDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyHardSwishDescriptor(
    infiniopHardSwishDescriptor_t desc);

#endif
