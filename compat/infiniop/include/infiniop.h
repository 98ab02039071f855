/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop.h - InfiniCore's operators, those that vjp serves. */
#ifndef VJP_COMPAT_INFINIOP_H
#define VJP_COMPAT_INFINIOP_H

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/ops/hard_sigmoid_backward.h"
#include "infiniop/ops/prelu_backward.h"
#include "infiniop/ops/relu_backward.h"
#include "infiniop/ops/sigmoid_backward.h"
#include "infiniop/ops/softmax_backward.h"
#include "infiniop/tensor_descriptor.h"

#endif
