/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/sigmoid_backward.h - the gradient of Sigmoid, from its input.
 *
 *     s = 1 / (1 + exp(-input))
 *     grad_input = grad_output * s * (1 - s)
 *
 * The tensors share one shape and one dtype: F16, F32, F64 or BF16. An input broadcasts by strides
 * of 0, the output does not. grad_input may be the memory of input, of grad_output or of both. The
 * workspace is 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_SIGMOID_BACKWARD_H
#define VJP_COMPAT_INFINIOP_SIGMOID_BACKWARD_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopSigmoidBackwardDescriptor_t;

/* BAD_PARAM if anything is NULL; BAD_TENSOR_DTYPE, _SHAPE or _STRIDES for what the tensors are not.
 * *desc_ptr is NULL then. The tensor descriptors are not needed after the call. */
__INFINI_C __export infiniStatus_t infiniopCreateSigmoidBackwardDescriptor(
    infiniopHandle_t handle, infiniopSigmoidBackwardDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t grad_input_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t grad_output_desc);

/* NULL_POINTER if either argument is NULL. */
__INFINI_C __export infiniStatus_t infiniopGetSigmoidBackwardWorkspaceSize(
    infiniopSigmoidBackwardDescriptor_t desc, size_t *size);

/* BAD_PARAM if desc is NULL or another operator's, if data is NULL (unless it has no elements) or
 * not aligned to its element, and if grad_input overlaps an input other than exactly. Nothing is
 * written then. */
__INFINI_C __export infiniStatus_t infiniopSigmoidBackward(
    infiniopSigmoidBackwardDescriptor_t desc, void *workspace, size_t workspace_size,
    void *grad_input, const void *input, const void *grad_output, void *stream);

/* Destroying NULL succeeds. */
__INFINI_C __export infiniStatus_t infiniopDestroySigmoidBackwardDescriptor(
    infiniopSigmoidBackwardDescriptor_t desc);

#endif
