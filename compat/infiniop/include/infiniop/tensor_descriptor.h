/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/tensor_descriptor.h - shape, strides and dtype of a tensor.
 *
 * Strides are in elements; negative ones are fine, and 0 repeats an input along that dim: that is
 * how infiniop broadcasts. What an operator cannot take, creating the operator refuses. */
#ifndef VJP_COMPAT_INFINIOP_TENSOR_DESCRIPTOR_H
#define VJP_COMPAT_INFINIOP_TENSOR_DESCRIPTOR_H

#include "../infinicore.h"

struct InfiniopTensorDescriptor;
typedef struct InfiniopTensorDescriptor *infiniopTensorDescriptor_t;

/* ndim 0 is one element, and shape may be NULL then. strides NULL means dense, row-major.
 * NULL_POINTER if desc_ptr is NULL, or shape although ndim is not 0. */
__INFINI_C __export infiniStatus_t infiniopCreateTensorDescriptor(
    infiniopTensorDescriptor_t *desc_ptr, size_t ndim, const size_t *shape,
    const ptrdiff_t *strides, infiniDtype_t dtype);

/* May be called as soon as the operators that need it are created. Destroying NULL succeeds. */
__INFINI_C __export infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);

#endif
