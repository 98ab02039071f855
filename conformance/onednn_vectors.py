# SPDX-License-Identifier: Apache-2.0
"""onednn_vectors.py [OPTION...] [OPERATOR...] - oneDNN's elementwise backward primitives on the CPU,
over the conformance vectors; options as of torch_vectors.py. The library is that of ONEDNN_ROOT, or
the one that pip installed. Needs torch too, whose tensors hold the data."""
import pathlib
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).parents[1] / "docs" / "numerics"))
import onednn_ctypes
from onednn_ctypes import DST, LOGISTIC, LOGISTIC_FROM_DST, RELU, SRC
from torch_vectors import kernel, main

# Numbers of dnnl_types.h, as in onednn_ctypes.py.
TANH, GELU_TANH, SWISH, GELU_ERF, MISH, TANH_FROM_DST = 0x21, 0x2b, 0x2c, 0x31, 0x33, 0x101

DNNL = onednn_ctypes.OneDNN()


def eltwise(algorithm, src, diff_dst, data=SRC, alpha=0.0):
    """None where oneDNN refuses."""
    diff_src = torch.zeros_like(src)
    try:
        call = DNNL.eltwise(algorithm, data, src, diff_dst, diff_src, alpha)
    except RuntimeError:
        return None
    call()
    call.close()
    return diff_src


KERNELS = {
    "relu_backward": kernel(lambda a, src, diff_dst: eltwise(RELU, src, diff_dst)),
    "sigmoid_backward": kernel(
        lambda a, src, diff_dst: eltwise(LOGISTIC_FROM_DST, src, diff_dst, DST) if a["use_dst"]
        else eltwise(LOGISTIC, src, diff_dst)),
    "tanh_backward": kernel(
        lambda a, src, diff_dst: eltwise(TANH_FROM_DST, src, diff_dst, DST) if a["use_dst"]
        else eltwise(TANH, src, diff_dst)),
    "silu_backward": kernel(
        lambda a, src, diff_dst: eltwise(SWISH, src, diff_dst, alpha=a.get("alpha", 1.0))),
    "gelu_backward": kernel(
        lambda a, src, diff_dst: eltwise(GELU_TANH if a["mode"] == "gelu_tanh" else GELU_ERF, src,
                                         diff_dst)),
    "mish_backward": kernel(lambda a, src, diff_dst: eltwise(MISH, src, diff_dst)),
}

if __name__ == "__main__":
    sys.exit(main(f"oneDNN {DNNL.version()}", KERNELS))
