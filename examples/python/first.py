# SPDX-License-Identifier: Apache-2.0
"""The gradient of a sigmoid in one line, then into memory of one's own, then with a parameter."""

import numpy as np

import vjp

src = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)  # the input of the forward pass
diff_dst = np.ones_like(src)  # the gradient of its output

print(vjp.sigmoid_backward(src, diff_dst))

vjp.sigmoid_backward(src, diff_dst, out=diff_dst)  # in place
print(diff_dst)

slope = np.array([0.1, 0.2, 0.3], np.float32)  # one for each column
diff_src, diff_slope = vjp.prelu_backward(src, slope, np.ones_like(src))
print(diff_src, diff_slope, sep="\n")
