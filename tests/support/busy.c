/* SPDX-License-Identifier: Apache-2.0 */
/* busy.c - see busy.h. */
#include "busy.h"

/* clang-format off */
const named_problem busy_problems[BUSY_PROBLEMS] = {
    { "relu",
      "relu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, USE_DST(0), 1, { 400003 }, NO_SLOPE },
    { "sigmoid",
      "sigmoid_backward", VJP_BF16, VJP_BF16, NAMED_SWAPPED, USE_DST(0),
      2, { 403, 511 }, NO_SLOPE },
    { "hard sigmoid",
      "hard_sigmoid_backward", VJP_F16, VJP_F16, NAMED_CHANNELS_LAST, LINE(0.2f, 0.5f),
      4, { 3, 65, 31, 33 }, NO_SLOPE },
    { "softmax",
      "softmax_backward", VJP_F32, VJP_F32, NAMED_PLAIN, AXIS(1), 2, { 9, 30011 }, NO_SLOPE },
    { "softmax, first axis",
      "softmax_backward", VJP_BF16, VJP_F32, NAMED_SWAPPED, AXIS(0), 2, { 301, 703 }, NO_SLOPE },
    { "prelu",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, FORMAT("NXC"), 2, { 3001, 65 }, 1, { 65 } },
    { "prelu, channels last",
      "prelu_backward", VJP_F64, VJP_F64, NAMED_CHANNELS_LAST, FORMAT("NCX"),
      4, { 3, 65, 31, 33 }, 1, { 65 } },
};
/* clang-format on */
