# SPDX-License-Identifier: Apache-2.0
import numpy as np

import vjp

src = np.array([-1, 0, 2], np.float32)  # the input of the forward pass
diff_dst = np.array([10, 20, 30], np.float32)  # the gradient of its output

diff_src = vjp.sigmoid_backward(src, diff_dst)
print(*(f"{x:g}" for x in diff_src))
