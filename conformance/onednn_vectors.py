# SPDX-License-Identifier: Apache-2.0
"""onednn_vectors.py [OPTION...] [OPERATOR...] - oneDNN's elementwise backward primitives on the CPU,
over the conformance vectors; options as of torch_vectors.py. The library is that of ONEDNN_ROOT, or
the one inside PyTorch, whose tensors hold the data."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "docs" / "numerics"))
from onednn_ctypes import (GELU_ERF, GELU_TANH, LOGISTIC, LOGISTIC_FROM_DST, MISH, RELU, SWISH, TANH,
                           TANH_FROM_DST, OneDNN)
from torch_vectors import kernel, main

DNNL = OneDNN()


def eltwise(algorithm, data, diff_dst, alpha=0.0):
    """None where oneDNN refuses."""
    try:
        return DNNL.eltwise_backward(algorithm, alpha, 0.0, data, diff_dst)
    except RuntimeError:
        return None


KERNELS = {
    "relu_backward": kernel(lambda a, src, diff_dst: eltwise(RELU, src, diff_dst)),
    "sigmoid_backward": kernel(
        lambda a, src, diff_dst: eltwise(LOGISTIC_FROM_DST, src, diff_dst) if a["use_dst"]
        else eltwise(LOGISTIC, src, diff_dst)),
    "tanh_backward": kernel(
        lambda a, src, diff_dst: eltwise(TANH_FROM_DST, src, diff_dst) if a["use_dst"]
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
