# SPDX-License-Identifier: Apache-2.0
"""The cases compared on a GPU: each operator in vjp, in PyTorch and as a definition."""
from dataclasses import dataclass, field

import torch

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
aten = torch.ops.aten
SIXTH = torch.tensor(1 / 6).item()  # rounded to f32, in vjp and in PyTorch


@dataclass
class Case:
    """define(m, *inputs) is the operator written with m, which is torch or JAX's counterpart of it;
    eager(*inputs) is how PyTorch's own autograd computes it. All are in vjp's order."""
    group: str
    name: str
    op: str
    dtype: str
    shape: tuple
    inputs: str  # a word for each: src, dst (of sigmoid or softmax), slope, diff_dst
    define: callable
    eager: callable
    attrs: dict = field(default_factory=dict)
    slope: tuple = None  # as vjp takes it: it may have fewer dims than src
    slope_view: tuple = None  # the same with all dims, for peers that broadcast from the right
    channels_last: bool = False  # diff_dst is; the others are not

    @property
    def layout(self):
        """As `vjp bench` calls it."""
        return "diff_dst channels last" if self.channels_last else "plain"


def relu(m, x, dy):
    return (m.where(x > 0, dy, 0.0),)


def sigmoid(m, x, dy):
    s = m.sigmoid(x)
    return (dy * s * (1 - s),)


def sigmoid_from_dst(m, y, dy):
    return (dy * y * (1 - y),)


def hard_sigmoid(m, x, dy):
    return (m.where((x > -3) & (x < 3), dy * SIXTH, 0.0),)


def softmax_along(axis):
    return lambda m, dy, y: (y * (dy - (y * dy).sum(axis, keepdims=True)),)


def prelu_over(axes):
    return lambda m, x, w, dy: (m.where(x > 0, dy, dy * w),
                                m.where(x > 0, 0.0, dy * x).sum(axes, keepdims=True))


def eager_prelu(x, w, dy):
    dx, dw = aten._prelu_kernel_backward(dy, x, w)
    return dx, dw.sum_to_size(w.shape)


MAPS = {  # name: (operator, attributes, inputs, definition, eager)
    "relu": ("relu_backward", {"use_dst": False}, "src diff_dst", relu,
             lambda x, dy: (aten.threshold_backward(dy, x, 0),)),
    "sigmoid from src": ("sigmoid_backward", {"use_dst": False}, "src diff_dst", sigmoid,
                         lambda x, dy: (aten.sigmoid_backward(dy, torch.sigmoid(x)),)),
    "sigmoid from dst": ("sigmoid_backward", {"use_dst": True}, "sigmoid diff_dst",
                         sigmoid_from_dst, lambda y, dy: (aten.sigmoid_backward(dy, y),)),
    "hard_sigmoid": ("hard_sigmoid_backward", {"alpha": SIXTH, "beta": 0.5}, "src diff_dst",
                     hard_sigmoid, lambda x, dy: (aten.hardsigmoid_backward(dy, x),)),
}


def map_case(group, name, dtype, shape, **more):
    op, attrs, inputs, define, eager = MAPS[name]
    return Case(group, name, op, dtype, shape, inputs, define, eager, attrs, **more)


def softmax_case(group, dtype, shape, axis=1):
    name = f"softmax, axis {axis}" if axis < len(shape) - 1 else f"softmax, rows of {shape[axis]}"
    return Case(group, name, "softmax_backward", dtype, shape, "diff_dst softmax",
                softmax_along(axis),
                lambda dy, y: (aten._softmax_backward_data(dy, y, axis, y.dtype),), {"axis": axis})


def prelu_case(group, name, dtype, shape, slope, slope_view, data_format="NXC"):
    axes = tuple(d for d, n in enumerate(slope_view) if n == 1)
    return Case(group, name, "prelu_backward", dtype, shape, "src slope diff_dst",
                prelu_over(axes), eager_prelu, {"data_format": data_format}, slope, slope_view)


def all_cases():
    for name in MAPS:
        for count in (1 << 28, 1 << 24):
            for dtype in ("f32", "f16", "bf16", "f64"):
                yield map_case("maps", name, dtype, (count,))
    for dtype in ("f32", "f16", "bf16"):
        for row in (64, 1024, 8192, 32768, 65536, 131072):
            yield softmax_case("softmax", dtype, ((1 << 28) // row, row))
        yield softmax_case("softmax", dtype, (4096, 50257))
        yield softmax_case("softmax", dtype, (256, 1000, 1024))
    image, rows = (256, 64, 112, 112), (65536, 4096)
    for dtype in ("f32", "f16", "bf16"):
        yield prelu_case("prelu", "prelu NCX", dtype, image, (64,), (1, 64, 1, 1), "NCX")
        yield prelu_case("prelu", "prelu, one slope", dtype, image, (1,), (1, 1, 1, 1))
        yield prelu_case("prelu", "prelu NXC", dtype, rows, (4096,), (1, 4096))
        yield prelu_case("prelu", "prelu, slope of a sample", dtype, (256, 112, 112, 64),
                         (112, 112, 64), (1, 112, 112, 64))
    for dtype in ("f32", "bf16"):
        for name in MAPS:
            yield map_case("small", name, dtype, (4096,))
        yield softmax_case("small", dtype, (64, 64))
        yield prelu_case("small", "prelu NXC", dtype, (64, 64), (64,), (1, 64))
        for name in ("relu", "sigmoid from src"):
            yield map_case("layouts", name, dtype, image, channels_last=True)


def make_tiny(case):
    def cut(shape):
        return shape and tuple(min(n, 24) for n in shape)
    case.shape, case.slope, case.slope_view = map(cut, (case.shape, case.slope, case.slope_view))
