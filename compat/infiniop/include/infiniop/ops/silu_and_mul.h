/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/silu_and_mul.h - SwiGLU of a tensor that holds gate and up.
 *
 *     output = gate / (1 + exp(-gate)) * up, input = [gate, up] along the last dim
 *
 * The last dim of input is twice that of output; the other dims are the same. They share one dtype.
 * output may not overlap input. Statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SILU_AND_MUL_H
#define VJP_COMPAT_INFINIOP_SILU_AND_MUL_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSiluAndMulDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSiluAndMulDescriptor(
    infiniopHandle_t handle, infiniopSiluAndMulDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output, infiniopTensorDescriptor_t input);

__INFINI_C __export infiniStatus_t infiniopGetSiluAndMulWorkspaceSize(
    infiniopSiluAndMulDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSiluAndMul(
    infiniopSiluAndMulDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    const void *input, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySiluAndMulDescriptor(
    infiniopSiluAndMulDescriptor_t desc);

#endif
