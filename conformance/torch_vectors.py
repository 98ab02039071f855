# SPDX-License-Identifier: Apache-2.0
"""torch_vectors.py [DIR] - how PyTorch fares on the conformance vectors. README.md says what they
are; this shows how to use them from Python. Needs numpy and torch."""
import collections, pathlib, sys
import numpy as np
import torch

DIR = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "vectors")

def load(path):
    array = np.load(path)
    if array.dtype.kind == "V":  # bf16: two bytes that NumPy has no name for
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)

def prelu(a, src, slope, diff_dst):
    if slope.dtype != src.dtype:
        return None
    if a.get("data_format") == "NCX" and src.ndim > 2:
        slope = slope.reshape(-1, *[1] * (src.ndim - 2))
    dx, dw = torch.ops.aten._prelu_kernel_backward(diff_dst, src, slope.expand_as(src))
    axis = 1 if a.get("data_format") == "NCX" and src.ndim > 1 else src.ndim - 1
    return dx, dw.sum([d for d in range(src.ndim) if d != axis]) if src.ndim > 1 else dw

PYTORCH = {
    "relu_backward": lambda a, src, diff_dst: torch.ops.aten.threshold_backward(diff_dst, src, 0),
    "sigmoid_backward": lambda a, src, diff_dst: torch.ops.aten.sigmoid_backward(
        diff_dst, src if a["use_dst"] == "1" else torch.sigmoid(src)),
    "hard_sigmoid_backward": lambda a, src, diff_dst: None,  # PyTorch has alpha = 1/6 only
    "prelu_backward": prelu,
    "softmax_backward": lambda a, diff_dst, dst: torch.ops.aten._softmax_backward_data(
        diff_dst, dst, int(a["axis"]), dst.dtype),
}
INPUTS = {"prelu_backward": ["src", "slope", "diff_dst"], "softmax_backward": ["diff_dst", "dst"]}

wrong, total = collections.Counter(), collections.Counter()
for line in (DIR / "cases.txt").read_text().splitlines():
    case, op, *words = line.split()
    attributes = dict(w.split("=") for w in words if "=" in w)  # "tensor:1,2,3" are strides
    inputs = [load(DIR / case / f"{n}.npy") for n in INPUTS.get(op, ["src", "diff_dst"])]
    results = PYTORCH[op](attributes, *inputs)
    if results is None:
        continue
    for name, got in zip(["diff_src", "diff_slope"], results if isinstance(results, tuple) else [results]):
        low, high = (load(DIR / case / f"{name}.{end}.npy") for end in ("low", "high"))
        if low.dtype != got.dtype:
            continue  # PyTorch does not write f32 from 16-bit inputs
        got, low, high = got.double(), low.double(), high.double()
        right = (got >= low) & (got <= high) | got.isnan() & low.isnan()
        right &= ~((got == 0) & (low.signbit() == high.signbit()) & (got.signbit() != low.signbit()))
        key = op, " ".join(words[:1]) if op == "sigmoid_backward" else "", str(inputs[0].dtype)[6:], name
        wrong[key] += int((~right).sum())
        total[key] += got.numel()
for key in total:
    print(f"{wrong[key]:6} of {total[key]:6} elements wrong: {' '.join(key)}")
