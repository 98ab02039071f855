/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/ops/layer_norm.h - LayerNorm along the last dim.
 *
 *     input_std_deviation = sqrt(variance of input + eps)
 *     input_standardization = (input - mean of input) / input_std_deviation
 *     output = input_standardization * weight + bias
 *
 * output and input_standardization have input's shape and dtype, input_std_deviation its shape
 * without the last dim. weight and bias are 1-D; bias_desc may be NULL: then there is none, and the
 * pointer to its data is not used. input_std_deviation, weight and bias have input's dtype, or are
 * F32 beside F16 and BF16. Create returns BAD_PARAM if eps is negative.
 * Statuses as for sigmoid_backward.h; the workspace may be more than 0 bytes. */
#ifndef VJP_COMPAT_INFINIOP_LAYER_NORM_H
#define VJP_COMPAT_INFINIOP_LAYER_NORM_H

#include "../operator_descriptor.h"

typedef struct InfiniopDescriptor *infiniopLayerNormDescriptor_t;

__INFINI_C __export infiniStatus_t infiniopCreateLayerNormDescriptor(
    infiniopHandle_t handle, infiniopLayerNormDescriptor_t *desc_ptr,
    infiniopTensorDescriptor_t output_desc, infiniopTensorDescriptor_t input_standardization_desc,
    infiniopTensorDescriptor_t input_std_deviation_desc, infiniopTensorDescriptor_t input_desc,
    infiniopTensorDescriptor_t weight_desc, infiniopTensorDescriptor_t bias_desc, float eps);

__INFINI_C __export infiniStatus_t infiniopGetLayerNormWorkspaceSize(
    infiniopLayerNormDescriptor_t desc, size_t *size);

__INFINI_C __export infiniStatus_t infiniopLayerNorm(
    infiniopLayerNormDescriptor_t desc, void *workspace, size_t workspace_size, void *output,
    void *input_standardization, void *input_std_deviation, const void *input, const void *weight,
    const void *bias, void *stream);

__INFINI_C __export infiniStatus_t infiniopDestroyLayerNormDescriptor(
    infiniopLayerNormDescriptor_t desc);

#endif
