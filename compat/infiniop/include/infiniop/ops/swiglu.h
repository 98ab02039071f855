/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/swiglu.h - SwiGLU.
 *
 *     c = a * b / (1 + exp(-b))
 *
 * a is the up projection, b the gate. The tensors share one shape and one dtype, and the output may
 * be the input's memory. Statuses and workspace as for sigmoid_backward.h. */
#ifndef VJP_COMPAT_INFINIOP_SWIGLU_H
#define VJP_COMPAT_INFINIOP_SWIGLU_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSwiGLUDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateSwiGLUDescriptor(
    infiniopHandle_t handle, infiniopSwiGLUDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t c_desc, infiniopTensorDescriptor_t a_desc,
    infiniopTensorDescriptor_t b_desc);

__INFINI_C __export infiniStatus_t infiniopGetSwiGLUWorkspaceSize(
    infiniopSwiGLUDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopSwiGLU(
    infiniopSwiGLUDescriptor_t desc, void *workspace, size_t workspace_size, void *c, const void *a,
    const void *b, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroySwiGLUDescriptor(infiniopSwiGLUDescriptor_t desc);

#endif
