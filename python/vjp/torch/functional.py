# SPDX-License-Identifier: Apache-2.0
"""Drop-in for torch.nn.functional: the same names, arguments and defaults.

    from vjp.torch import functional as F
    F.silu(x)

A function exists where its operator is in the library's table. What the library does not take (other
dtypes and devices, more than 12 dims, class probabilities as targets) goes to PyTorch's own function.
"""
import torch
import torch.nn.functional as F

from . import table

_ops = torch.ops.vjp
_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_MISSING = {}  # name: the operator that it would need


def _needs(operator):
    def decorate(function):
        if operator not in table.OPERATORS:
            _MISSING[function.__name__] = operator
        function.__module__ = __name__
        return function
    return decorate


def _takes(*tensors):
    return all(t.dtype in _DTYPES and t.dim() <= 12 and t.device.type in ("cpu", "cuda")
               for t in tensors)


def _apply(input, inplace, function):
    """In place: autograd may need the input as it was, so a copy of it is computed on."""
    return input.copy_(function(input.clone())) if inplace else function(input)


# ---- elementwise ------------------------------------------------------------------------------------

@_needs("relu")
def relu(input, inplace=False):
    return _apply(input, inplace, _ops.relu) if _takes(input) else F.relu(input, inplace)


@_needs("sigmoid")
def sigmoid(input):
    return _ops.sigmoid(input) if _takes(input) else torch.sigmoid(input)


@_needs("tanh")
def tanh(input):
    return _ops.tanh(input) if _takes(input) else torch.tanh(input)


@_needs("silu")
def silu(input, inplace=False):
    return _apply(input, inplace, _ops.silu) if _takes(input) else F.silu(input, inplace)


@_needs("mish")
def mish(input, inplace=False):
    return _apply(input, inplace, _ops.mish) if _takes(input) else F.mish(input, inplace)


@_needs("softsign")
def softsign(input):
    return _ops.softsign(input) if _takes(input) else F.softsign(input)


@_needs("hard_swish")
def hardswish(input, inplace=False):
    return _apply(input, inplace, _ops.hard_swish) if _takes(input) else F.hardswish(input, inplace)


@_needs("log_sigmoid")
def logsigmoid(input):
    return _ops.log_sigmoid(input) if _takes(input) else F.logsigmoid(input)


@_needs("tanh_shrink")
def tanhshrink(input):
    return _ops.tanh_shrink(input) if _takes(input) else F.tanhshrink(input)


@_needs("gelu")
def gelu(input, approximate="none"):
    if not _takes(input) or approximate not in ("none", "tanh"):
        return F.gelu(input, approximate=approximate)
    return _ops.gelu(input, mode="gelu_tanh" if approximate == "tanh" else "gelu_erf")


@_needs("hard_sigmoid")
def hardsigmoid(input, inplace=False):
    if not _takes(input):
        return F.hardsigmoid(input, inplace)
    return _apply(input, inplace, lambda x: _ops.hard_sigmoid(x, alpha=1 / 6, beta=0.5))


@_needs("leaky_relu")
def leaky_relu(input, negative_slope=0.01, inplace=False):
    if not _takes(input):
        return F.leaky_relu(input, negative_slope, inplace)
    return _apply(input, inplace, lambda x: _ops.leaky_relu(x, alpha=negative_slope))


@_needs("clamp")
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if not _takes(input) or min_val > max_val:
        return F.hardtanh(input, min_val, max_val, inplace)
    return _apply(input, inplace, lambda x: _ops.clamp(x, min=min_val, max=max_val))


@_needs("clamp")
def relu6(input, inplace=False):
    return hardtanh(input, 0.0, 6.0, inplace)


@_needs("threshold")
def threshold(input, threshold, value, inplace=False):
    if not _takes(input):
        return F.threshold(input, threshold, value, inplace)
    return _apply(input, inplace, lambda x: _ops.threshold(x, threshold=threshold, value=value))


@_needs("soft_shrink")
def softshrink(input, lambd=0.5):
    if not _takes(input) or lambd < 0:
        return F.softshrink(input, lambd)
    return _ops.soft_shrink(input, lambd=lambd)


@_needs("hard_shrink")
def hardshrink(input, lambd=0.5):
    if not _takes(input) or lambd < 0:
        return F.hardshrink(input, lambd)
    return _ops.hard_shrink(input, lambd=lambd)


@_needs("softplus")
def softplus(input, beta=1.0, threshold=20.0):
    """PyTorch's is the identity above the threshold. The library's needs none: it is used where the
    two agree to float32's precision, for the default threshold or a larger one."""
    if not _takes(input) or threshold < 20 or beta == 0:
        return F.softplus(input, beta, threshold)
    return _ops.softplus(input, beta=beta)


def _elu(input, inplace, own, **attrs):
    return _apply(input, inplace, lambda x: _ops.elu(x, **attrs)) if _takes(input) else own()


@_needs("elu")
def elu(input, alpha=1.0, inplace=False):
    return _elu(input, inplace, lambda: F.elu(input, alpha, inplace), alpha=alpha)


@_needs("elu")
def celu(input, alpha=1.0, inplace=False):
    if alpha == 0:
        return F.celu(input, alpha, inplace)
    return _elu(input, inplace, lambda: F.celu(input, alpha, inplace), alpha=alpha,
                input_scale=1 / alpha)


@_needs("elu")
def selu(input, inplace=False):
    return _elu(input, inplace, lambda: F.selu(input, inplace), alpha=1.6732632423543772,
                scale=1.0507009873554805)


@_needs("prelu")
def prelu(input, weight):
    if not _takes(input, weight) or input.dim() == 0:
        return F.prelu(input, weight)
    return _ops.prelu(input, weight, data_format="NCX")


# ---- gated ------------------------------------------------------------------------------------------

@_needs("glu")
def glu(input, dim=-1):
    if not _takes(input) or input.dim() == 0 or input.shape[dim] % 2:
        return F.glu(input, dim)
    up, gate = input.chunk(2, dim)
    return _ops.glu(gate, up)


@_needs("swiglu")
def swiglu(gate, up, alpha=1.0, limit=None, bias=0.0):
    """silu(gate) * up in one pass; alpha, limit and bias as in torch.ops.vjp.swiglu."""
    return _ops.swiglu(gate, up, alpha=alpha, limit=limit, bias=bias)


@_needs("geglu")
def geglu(gate, up, approximate="none"):
    """gelu(gate) * up in one pass."""
    return _ops.geglu(gate, up, mode="gelu_tanh" if approximate == "tanh" else "gelu_erf")


@_needs("reglu")
def reglu(gate, up):
    """relu(gate) * up in one pass."""
    return _ops.reglu(gate, up)


# ---- rows -------------------------------------------------------------------------------------------

@_needs("softmax")
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None or not _takes(input) or input.dim() == 0 or dtype not in (None, *_DTYPES):
        return F.softmax(input, dim, _stacklevel + 1, dtype)
    input = input if dtype is None else input.to(dtype)
    return _ops.softmax(input, axis=dim, want_stats=False)[0]


def _mean(loss, target, weight, ignore_index):
    counted = target != ignore_index
    if weight is None:
        return loss.sum() / counted.sum()
    return loss.sum() / (weight[target.clamp(min=0)] * counted).sum()


@_needs("cross_entropy")
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    """As PyTorch's. Class probabilities as targets go to PyTorch's own. Sums of float16 and bfloat16
    losses are made in float32 before they are rounded."""
    known = reduction in ("none", "mean", "sum") and size_average is None and reduce is None
    if (not known or not _takes(input) or target.dtype not in (torch.int32, torch.int64)
            or input.dim() == 0 or target.dim() != max(input.dim() - 1, 0)):
        return F.cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction,
                               label_smoothing)
    loss = _ops.cross_entropy(input, target, weight, axis=1 if input.dim() > 1 else 0,
                              ignore_index=ignore_index, label_smoothing=label_smoothing)[0]
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = _mean(loss, target, weight, ignore_index)
    return loss if torch.is_autocast_enabled(input.device.type) else loss.to(input.dtype)


__all__ = [name for name, value in list(globals().items())
           if getattr(value, "__module__", None) == __name__ and callable(value)
           and not name.startswith("_") and name not in _MISSING]
for _name in _MISSING:
    del globals()[_name]


def __getattr__(name):
    if name in _MISSING:
        raise AttributeError(f"vjp.torch.functional.{name}: this build of vjp has no operator "
                             f"{_MISSING[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
