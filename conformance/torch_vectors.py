# SPDX-License-Identifier: Apache-2.0
"""torch_vectors.py [--ulps N] [--finite] [--only WORD] [OPERATOR...] - PyTorch's backward kernels on
the CPU, over the conformance vectors. docs/conformance-kit.md explains what it prints. Needs torch,
numpy and ml_dtypes."""
import argparse
import pathlib
import sys

import ml_dtypes
import numpy as np
import torch

sys.path.append(str(pathlib.Path(__file__).parent / "kit"))
import kit

aten = torch.ops.aten


def to_torch(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def kernel(function, outputs=("diff_src",)):
    """A kernel for kit.check from a function of the attributes and of tensors by name."""
    def run(attributes, **inputs):
        results = function(attributes, **{name: to_torch(a) for name, a in inputs.items()})
        if results is None:
            return None
        results = results if isinstance(results, tuple) else (results,)
        return {name: to_numpy(tensor) for name, tensor in zip(outputs, results)}
    return run


def prelu(a, src, slope, diff_dst):
    if slope.dtype != src.dtype:
        return None
    if a.get("data_format") == "NCX" and src.ndim > 2:
        slope = slope.reshape(-1, *[1] * (src.ndim - 2))
    diff_src, diff_slope = aten._prelu_kernel_backward(diff_dst, src, slope.expand_as(src))
    axis = 1 if a.get("data_format") == "NCX" and src.ndim > 1 else src.ndim - 1
    summed = [d for d in range(src.ndim) if d != axis]
    return diff_src, diff_slope.sum(summed) if summed else diff_slope


def softmax(a, diff_dst, dst, length=None, mask=None):
    if length is not None or mask is not None or a["causal"] or a.get("scale", 1) != 1:
        return None  # PyTorch's has none of these
    return aten._softmax_backward_data(diff_dst, dst, a["axis"], dst.dtype)


KERNELS = {
    "relu_backward": kernel(lambda a, src, diff_dst: aten.threshold_backward(diff_dst, src, 0)),
    "sigmoid_backward": kernel(lambda a, src, diff_dst: aten.sigmoid_backward(
        diff_dst, src if a["use_dst"] else torch.sigmoid(src))),
    "tanh_backward": kernel(lambda a, src, diff_dst: aten.tanh_backward(
        diff_dst, src if a["use_dst"] else torch.tanh(src))),
    "silu_backward": kernel(lambda a, src, diff_dst: aten.silu_backward(
        diff_dst, src) if a.get("alpha", 1) == 1 else None),
    "gelu_backward": kernel(lambda a, src, diff_dst: aten.gelu_backward(
        diff_dst, src, approximate="tanh" if a["mode"] == "gelu_tanh" else "none")),
    "mish_backward": kernel(lambda a, src, diff_dst: aten.mish_backward(diff_dst, src)),
    "log_sigmoid_backward": kernel(lambda a, src, diff_dst: aten.log_sigmoid_backward(
        diff_dst, src, torch.exp(-src.abs()))),
    "prelu_backward": kernel(prelu, ("diff_src", "diff_slope")),
    "softmax_backward": kernel(softmax),
}


def main(library, kernels):
    parser = argparse.ArgumentParser()
    parser.add_argument("--ulps", type=float, default=0, metavar="N",
                        help="allow that distance from the exact value, and any sign of a zero")
    parser.add_argument("--finite", action="store_true", help="ignore NaN and infinities")
    parser.add_argument("--only", default="", metavar="WORD", help="cases with this in their names")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="of: " + " ".join(kernels))
    options = parser.parse_args()
    print(library)
    unknown = set(options.operators) - set(kernels)
    if unknown:
        parser.error("no kernel here for " + " ".join(sorted(unknown)))
    chosen = {name: kernels[name] for name in options.operators or kernels}
    return kit.check(chosen, ulps=options.ulps, finite=options.finite,
                     only=options.only) > 0


if __name__ == "__main__":
    sys.exit(main(f"PyTorch {torch.__version__}", KERNELS))
