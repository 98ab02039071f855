/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop.h - InfiniCore's operators, those that vjp serves. */
#ifndef VJP_COMPAT_INFINIOP_H
#define VJP_COMPAT_INFINIOP_H

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/ops/gelu.h"
#include "infiniop/ops/gelu_backward.h"
#include "infiniop/ops/gelutanh.h"
#include "infiniop/ops/hard_sigmoid_backward.h"
#include "infiniop/ops/hardswish.h"
#include "infiniop/ops/hardtanh.h"
#include "infiniop/ops/prelu.h"
#include "infiniop/ops/prelu_backward.h"
#include "infiniop/ops/quickgelu.h"
#include "infiniop/ops/reciprocal.h"
#include "infiniop/ops/relu.h"
#include "infiniop/ops/relu6.h"
#include "infiniop/ops/relu_backward.h"
#include "infiniop/ops/selu.h"
#include "infiniop/ops/sigmoid.h"
#include "infiniop/ops/sigmoid_backward.h"
#include "infiniop/ops/silu.h"
#include "infiniop/ops/silu_and_mul.h"
#include "infiniop/ops/softmax_backward.h"
#include "infiniop/ops/softplus.h"
#include "infiniop/ops/softsign.h"
#include "infiniop/ops/swiglu.h"
#include "infiniop/ops/tanh.h"
#include "infiniop/ops/tanhshrink.h"
#include "infiniop/tensor_descriptor.h"

#endif
