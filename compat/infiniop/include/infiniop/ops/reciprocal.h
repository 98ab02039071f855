/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/reciprocal.h - Reciprocal.
 *
 *     output = 1 / input
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_RECIPROCAL_H
#define VJP_COMPAT_INFINIOP_RECIPROCAL_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopReciprocalDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateReciprocalDescriptor(
    infiniopHandle_t handle, infiniopReciprocalDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetReciprocalWorkspaceSize(
    infiniopReciprocalDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopReciprocal(
    infiniopReciprocalDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyReciprocalDescriptor(
    infiniopReciprocalDescriptor_t desc);

#endif
