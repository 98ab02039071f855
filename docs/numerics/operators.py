# SPDX-License-Identifier: Apache-2.0
"""The elementwise and gated operators as PyTorch and oneDNN have them, one line for each: for peers.py."""
from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import torch
import torch.nn.functional as F

import onednn_ctypes as dnnl

ATEN = torch.ops.aten
QUICK = float(np.float32(1.702))  # a float, which is what oneDNN and PyTorch's f32 make of it
TANH_FORM = {"mode": "gelu_tanh"}
GATED = ("gate", "up")


@dataclass
class Operator:
    """forward of the inputs in order gives dst. Where PyTorch or oneDNN has it under another name, that is
    what stands here; where only composed of others, the composition that models are written with."""
    name: str
    forward: Callable  # None: PyTorch does not have it
    onednn: tuple = None  # the algorithm of its eltwise primitive, alpha and beta; None: it has none
    label: str = None  # what tells it from others of the same name
    attributes: dict = field(default_factory=dict)
    inputs: tuple = ("src",)
    has_backward: bool = True
    forward_at: Callable = None  # which of the inputs are compared; None: all
    backward_at: Callable = None


@dataclass
class FromDst:
    """A backward pass that sees dst: backward(dst, diff_dst) is PyTorch's, and what its autograd computes."""
    name: str
    backward: Callable
    onednn: tuple
    backward_at: Callable  # which numbers the forward pass can give


def limited_swiglu(gate, up):
    gate, up = gate.clamp(max=7.0), up.clamp(-7.0, 7.0)
    return gate * torch.sigmoid(gate * QUICK) * (up + 1)


OPERATORS = [
    Operator("relu", torch.relu, (dnnl.RELU, 0, 0)),
    Operator("leaky_relu", F.leaky_relu, (dnnl.RELU, 0.01, 0)),
    Operator("prelu", F.prelu, (dnnl.PRELU,), inputs=("src", "slope")),
    Operator("relu_squared", lambda x: torch.relu(x).square()),
    Operator("clamp", lambda x: F.hardtanh(x, -1, 1), (dnnl.CLIP, -1, 1), "-1, 1", {"min": -1, "max": 1}),
    Operator("threshold", lambda x: F.threshold(x, 0.5, 0.25), None, "0.5", {"threshold": 0.5, "value": 0.25}),
    Operator("soft_shrink", F.softshrink),
    Operator("hard_shrink", F.hardshrink),
    Operator("hard_sigmoid", None, (dnnl.HARD_SIGMOID, 0.25, 0.5), "1/4, 1/2", {"alpha": 0.25, "beta": 0.5}),
    # PyTorch's alpha is 1/6, ours and oneDNN's the number next to it: that is another function near its zero.
    Operator("hard_sigmoid", F.hardsigmoid, (dnnl.HARD_SIGMOID, 1 / 6, 0.5), "1/6, 1/2",
             {"alpha": 1 / 6, "beta": 0.5}, forward_at=lambda x: x > -0.5,
             backward_at=lambda x: (x.abs() - 3).abs() > 0.01),
    Operator("hard_swish", F.hardswish, (dnnl.HARD_SWISH, 1 / 6, 0.5)),
    Operator("abs", torch.abs, (dnnl.ABS, 0, 0)),
    Operator("sqrt", torch.sqrt, (dnnl.SQRT, 0, 0)),
    Operator("square", torch.square, (dnnl.SQUARE, 0, 0)),
    Operator("reciprocal", torch.reciprocal, (dnnl.POW, 1, -1)),
    Operator("round", torch.round, (dnnl.ROUND, 0, 0), has_backward=False),
    Operator("softsign", F.softsign),
    Operator("exp", torch.exp, (dnnl.EXP, 0, 0)),
    Operator("log", torch.log, (dnnl.LOG, 0, 0)),
    Operator("sigmoid", torch.sigmoid, (dnnl.LOGISTIC, 0, 0)),
    Operator("log_sigmoid", F.logsigmoid, (dnnl.SOFT_RELU, -1, 0)),
    Operator("tanh", torch.tanh, (dnnl.TANH, 0, 0)),
    Operator("tanh_shrink", F.tanhshrink),
    Operator("softplus", F.softplus, (dnnl.SOFT_RELU, 1, 0)),
    Operator("elu", F.elu, (dnnl.ELU, 1, 0)),
    Operator("elu", F.selu, None, "SELU", {"alpha": 1.6732632423543772, "scale": 1.0507009873554805}),
    Operator("elu", lambda x: F.celu(x, 2.0), None, "CELU, 2", {"alpha": 2, "input_scale": 0.5}),
    Operator("silu", F.silu, (dnnl.SWISH, 1, 0)),
    Operator("silu", lambda x: x * torch.sigmoid(x * QUICK), (dnnl.SWISH, QUICK, 0), "quick-GELU",
             {"alpha": QUICK}),
    Operator("gelu", F.gelu, (dnnl.GELU_ERF, 0, 0)),
    Operator("gelu", lambda x: F.gelu(x, approximate="tanh"), (dnnl.GELU_TANH, 0, 0), "tanh", TANH_FORM),
    Operator("mish", F.mish, (dnnl.MISH, 0, 0)),
    Operator("glu", lambda gate, up: F.glu(torch.cat([up, gate]), 0), inputs=GATED),
    Operator("reglu", lambda gate, up: torch.relu(gate) * up, inputs=GATED),
    Operator("geglu", lambda gate, up: F.gelu(gate) * up, inputs=GATED),
    Operator("geglu", lambda gate, up: F.gelu(gate, approximate="tanh") * up, None, "tanh", TANH_FORM, GATED),
    Operator("swiglu", lambda gate, up: F.silu(gate) * up, inputs=GATED),
    Operator("swiglu", limited_swiglu, None, "limit 7", {"alpha": QUICK, "limit": 7, "bias": 1}, GATED),
]

FROM_DST = [
    FromDst("sigmoid_backward", lambda y, g: ATEN.sigmoid_backward(g, y), (dnnl.LOGISTIC_FROM_DST, 0, 0),
            lambda y: (y >= 0) & (y <= 1)),
    FromDst("tanh_backward", lambda y, g: ATEN.tanh_backward(g, y), (dnnl.TANH_FROM_DST, 0, 0),
            lambda y: y.abs() <= 1),
    FromDst("elu_backward", lambda y, g: ATEN.elu_backward(g, 1, 1, 1, True, y), (dnnl.ELU_FROM_DST, 1, 0),
            lambda y: y >= -1),
    FromDst("sqrt_backward", lambda y, g: g / (2 * y), (dnnl.SQRT_FROM_DST, 0, 0),
            lambda y: (y > 0) & (y.double().square() <= torch.finfo(y.dtype).max)),
]

# Where slopes change their sign or jump: the neighbours of these are inputs, too.
SILU_ROOT = -1.2784645427610738
POINTS = [0.5, 1.0, 1.5, 3.0, 6.0, 7.0, 20.0, -SILU_ROOT, -SILU_ROOT / QUICK, 0.7517915246935645,
          0.7524614220710163, 1.1924312145154952]
