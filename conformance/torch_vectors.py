# SPDX-License-Identifier: Apache-2.0
"""torch_vectors.py [DIR] - check PyTorch against the conformance vectors. README.md says what they
are; this shows how to use them from Python. Needs torch and safetensors."""
import collections, json, pathlib, sys
import torch
from safetensors import safe_open

DIR = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "vectors")

def prelu(a, src, slope, diff_dst):
    if slope.dtype != src.dtype:
        return None
    if a.get("data_format") == "NCX" and src.ndim > 2:
        slope = slope.reshape(-1, *[1] * (src.ndim - 2))
    dx, dw = torch.ops.aten._prelu_kernel_backward(diff_dst, src, slope.expand_as(src))
    axis = 1 if a.get("data_format") == "NCX" and src.ndim > 1 else src.ndim - 1
    return dx, dw.sum([d for d in range(src.ndim) if d != axis]) if src.ndim > 1 else dw

# A function of the attributes and of the inputs by name; None: PyTorch has no such operator.
PYTORCH = {
    "relu_backward": lambda a, src, diff_dst: torch.ops.aten.threshold_backward(diff_dst, src, 0),
    "sigmoid_backward": lambda a, src, diff_dst: torch.ops.aten.sigmoid_backward(
        diff_dst, src if a["use_dst"] else torch.sigmoid(src)),
    "hard_sigmoid_backward": lambda a, src, diff_dst: None,  # PyTorch has alpha = 1/6 only
    "prelu_backward": prelu,
    "softmax_backward": lambda a, diff_dst, dst: torch.ops.aten._softmax_backward_data(
        diff_dst, dst, a["axis"], dst.dtype),
}

def is_right(got, low, high):
    got, low, high = got.double(), low.double(), high.double()
    right = (got >= low) & (got <= high) | got.isnan() & low.isnan()
    return right & ~((got == 0) & (low.signbit() == high.signbit()) & (got.signbit() != low.signbit()))

wrong, total = collections.Counter(), collections.Counter()
for path in sorted(DIR.glob("*.safetensors")):
    with safe_open(path, "pt") as file:
        op, cases = file.metadata()["operator"], json.loads(file.metadata()["cases"])
        tensors = collections.defaultdict(dict)
        for key in file.keys():
            case, name = key.split("/")
            tensors[case][name] = file.get_tensor(key)
    for case in cases if op in PYTORCH else []:
        attributes, named = case["attributes"], tensors[case["name"]]
        outputs = sorted((n[:-4] for n in named if n.endswith(".low")), reverse=True)
        inputs = {n: t for n, t in named.items() if n.split(".")[0] not in outputs}
        results = PYTORCH[op](attributes, **inputs)
        if results is None:
            continue
        for name, got in zip(outputs, results if isinstance(results, tuple) else [results]):
            low, high = named[f"{name}.low"], named[f"{name}.high"]
            if low.dtype != got.dtype:
                continue  # PyTorch does not write f32 from 16-bit inputs
            switches = " ".join(f"{n}={v}" for n, v in attributes.items() if isinstance(v, bool))
            dtype = str(next(iter(inputs.values())).dtype)[6:]
            right = is_right(got, low, high)
            wrong[op, switches, dtype, name] += int((~right).sum())
            total[op, switches, dtype, name] += got.numel()
for key in total:
    print(f"{wrong[key]:6} of {total[key]:6} elements wrong: {' '.join(key)}")
