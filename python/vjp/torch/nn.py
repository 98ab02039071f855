# SPDX-License-Identifier: Apache-2.0
"""Drop-in for torch.nn: subclasses of its modules with the same arguments, defaults and state_dict.

    from vjp.torch import nn
    nn.SiLU()

SwiGLU, GEGLU and ReGLU, which torch.nn has not, take gate and up.
"""
import torch

from . import functional

# Module of torch.nn: its function, and what of the module is passed on.
_MODULES = {
    "ReLU": ("relu", ("inplace",)),
    "Sigmoid": ("sigmoid", ()),
    "Tanh": ("tanh", ()),
    "SiLU": ("silu", ("inplace",)),
    "Mish": ("mish", ("inplace",)),
    "Softsign": ("softsign", ()),
    "Hardswish": ("hardswish", ("inplace",)),
    "LogSigmoid": ("logsigmoid", ()),
    "Tanhshrink": ("tanhshrink", ()),
    "GELU": ("gelu", ("approximate",)),
    "Hardsigmoid": ("hardsigmoid", ("inplace",)),
    "LeakyReLU": ("leaky_relu", ("negative_slope", "inplace")),
    "Hardtanh": ("hardtanh", ("min_val", "max_val", "inplace")),
    "ReLU6": ("relu6", ("inplace",)),
    "Threshold": ("threshold", ("threshold", "value", "inplace")),
    "Softshrink": ("softshrink", ("lambd",)),
    "Hardshrink": ("hardshrink", ("lambd",)),
    "Softplus": ("softplus", ("beta", "threshold")),
    "ELU": ("elu", ("alpha", "inplace")),
    "CELU": ("celu", ("alpha", "inplace")),
    "SELU": ("selu", ("inplace",)),
    "PReLU": ("prelu", ("weight",)),
    "GLU": ("glu", ("dim",)),
    "Softmax": ("softmax", ("dim",)),
    "LogSoftmax": ("log_softmax", ("dim",)),
    "RMSNorm": ("rms_norm", ("normalized_shape", "weight", "eps")),
    "LayerNorm": ("layer_norm", ("normalized_shape", "weight", "bias", "eps")),
}


def _module(name, function, members):
    call = getattr(functional, function)

    def forward(self, input):
        return call(input, **{member: getattr(self, member) for member in members})
    doc = f"torch.nn.{name} with vjp.torch.functional.{function}."
    return type(name, (getattr(torch.nn, name),), {"forward": forward, "__doc__": doc,
                                                  "__module__": __name__})


globals().update({name: _module(name, *parts) for name, parts in _MODULES.items()})


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss with vjp.torch.functional.cross_entropy."""

    def forward(self, input, target):
        return functional.cross_entropy(input, target, weight=self.weight,
                                        ignore_index=self.ignore_index, reduction=self.reduction,
                                        label_smoothing=self.label_smoothing)


class SwiGLU(torch.nn.Module):
    """silu(gate) * up of two tensors, in one pass."""

    def __init__(self, alpha=1.0, limit=None, bias=0.0):
        super().__init__()
        self.alpha, self.limit, self.bias = alpha, limit, bias

    def forward(self, gate, up):
        return functional.swiglu(gate, up, self.alpha, self.limit, self.bias)

    def extra_repr(self):
        return f"alpha={self.alpha}, limit={self.limit}, bias={self.bias}"


class GEGLU(torch.nn.Module):
    """gelu(gate) * up of two tensors, in one pass."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, gate, up):
        return functional.geglu(gate, up, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class ReGLU(torch.nn.Module):
    """relu(gate) * up of two tensors, in one pass."""

    def forward(self, gate, up):
        return functional.reglu(gate, up)


__all__ = [*_MODULES, "CrossEntropyLoss", "SwiGLU", "GEGLU", "ReGLU"]
