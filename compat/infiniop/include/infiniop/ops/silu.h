/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/silu.h - SiLU.
 *
 *     output = input / (1 + exp(-input))
 *
 * The tensors share one shape and one dtype, and the output may be the input's memory. Statuses and
 * workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SILU_H
#define VJP_COMPAT_INFINIOP_SILU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSiluDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSiluDescriptor(
    infiniopHandle_t handle, infiniopSiluDescriptor_t *desc_ptr, infiniopTensorDescriptor_t output,
    infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetSiluWorkspaceSize(
    infiniopSiluDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSilu(
    infiniopSiluDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySiluDescriptor(infiniopSiluDescriptor_t desc);

#endif
