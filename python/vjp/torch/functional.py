# SPDX-License-Identifier: Apache-2.0
"""Drop-in for torch.nn.functional: the same names, arguments and defaults.

    from vjp.torch import functional as F
    F.silu(x)

What the library does not take (other dtypes and devices, more than 12 dims, class probabilities as
targets) goes to PyTorch's own function.
"""
import torch
import torch.nn.functional as F

_ops = torch.ops.vjp
_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _takes(*tensors):
    return all(t.dtype in _DTYPES and t.dim() <= 12 and t.device.type in ("cpu", "cuda")
               for t in tensors)


def _apply(input, inplace, function):
    """In place: autograd may need the input as it was, so a copy of it is computed on."""
    return input.copy_(function(input.clone())) if inplace else function(input)


# ---- elementwise ------------------------------------------------------------------------------------

def _same(name, operator, has_inplace):
    """PyTorch's function of this name where the operator has no attributes that it needs."""
    own, ours = getattr(F, name), getattr(_ops, operator)

    def function(input):
        return ours(input) if _takes(input) else own(input)

    def may_be_in_place(input, inplace=False):
        return _apply(input, inplace, ours) if _takes(input) else own(input, inplace)
    made = may_be_in_place if has_inplace else function
    made.__name__ = made.__qualname__ = name
    return made


# PyTorch's name, the operator, whether there is an argument `inplace`
_SAME = (
    ("relu", "relu", True),
    ("sigmoid", "sigmoid", False),
    ("tanh", "tanh", False),
    ("silu", "silu", True),
    ("mish", "mish", True),
    ("softsign", "softsign", False),
    ("hardswish", "hard_swish", True),
    ("logsigmoid", "log_sigmoid", False),
    ("tanhshrink", "tanh_shrink", False),
)
globals().update({row[0]: _same(*row) for row in _SAME})


def gelu(input, approximate="none"):
    if not _takes(input) or approximate not in ("none", "tanh"):
        return F.gelu(input, approximate=approximate)
    return _ops.gelu(input, mode="gelu_tanh" if approximate == "tanh" else "gelu_erf")


def hardsigmoid(input, inplace=False):
    if not _takes(input):
        return F.hardsigmoid(input, inplace)
    return _apply(input, inplace, lambda x: _ops.hard_sigmoid(x, alpha=1 / 6, beta=0.5))


def leaky_relu(input, negative_slope=0.01, inplace=False):
    if not _takes(input):
        return F.leaky_relu(input, negative_slope, inplace)
    return _apply(input, inplace, lambda x: _ops.leaky_relu(x, alpha=negative_slope))


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if not _takes(input) or min_val > max_val:
        return F.hardtanh(input, min_val, max_val, inplace)
    return _apply(input, inplace, lambda x: _ops.clamp(x, min=min_val, max=max_val))


def relu6(input, inplace=False):
    return hardtanh(input, 0.0, 6.0, inplace)


def threshold(input, threshold, value, inplace=False):
    if not _takes(input):
        return F.threshold(input, threshold, value, inplace)
    return _apply(input, inplace, lambda x: _ops.threshold(x, threshold=threshold, value=value))


def softshrink(input, lambd=0.5):
    if not _takes(input) or lambd < 0:
        return F.softshrink(input, lambd)
    return _ops.soft_shrink(input, lambd=lambd)


def hardshrink(input, lambd=0.5):
    if not _takes(input) or lambd < 0:
        return F.hardshrink(input, lambd)
    return _ops.hard_shrink(input, lambd=lambd)


def softplus(input, beta=1.0, threshold=20.0):
    """PyTorch's is the identity above the threshold. The library's needs none: it is used where the
    two agree to float32's precision, for the default threshold or a larger one."""
    if not _takes(input) or threshold < 20 or beta == 0:
        return F.softplus(input, beta, threshold)
    return _ops.softplus(input, beta=beta)


def _elu(input, inplace, own, **attrs):
    return _apply(input, inplace, lambda x: _ops.elu(x, **attrs)) if _takes(input) else own()


def elu(input, alpha=1.0, inplace=False):
    return _elu(input, inplace, lambda: F.elu(input, alpha, inplace), alpha=alpha)


def celu(input, alpha=1.0, inplace=False):
    if alpha == 0:
        return F.celu(input, alpha, inplace)
    return _elu(input, inplace, lambda: F.celu(input, alpha, inplace), alpha=alpha,
                input_scale=1 / alpha)


def selu(input, inplace=False):
    return _elu(input, inplace, lambda: F.selu(input, inplace), alpha=1.6732632423543772,
                scale=1.0507009873554805)


def prelu(input, weight):
    if not _takes(input, weight) or input.dim() == 0:
        return F.prelu(input, weight)
    return _ops.prelu(input, weight, data_format="NCX")


# ---- gated ------------------------------------------------------------------------------------------

def glu(input, dim=-1):
    if not _takes(input) or input.dim() == 0 or input.shape[dim] % 2:
        return F.glu(input, dim)
    up, gate = input.chunk(2, dim)
    return _ops.glu(gate, up)


def swiglu(gate, up, alpha=1.0, limit=None, bias=0.0):
    """silu(gate) * up in one pass; alpha, limit and bias as in torch.ops.vjp.swiglu."""
    return _ops.swiglu(gate, up, alpha=alpha, limit=limit, bias=bias)


def geglu(gate, up, approximate="none"):
    """gelu(gate) * up in one pass."""
    return _ops.geglu(gate, up, mode="gelu_tanh" if approximate == "tanh" else "gelu_erf")


def reglu(gate, up):
    """relu(gate) * up in one pass."""
    return _ops.reglu(gate, up)


# ---- rows -------------------------------------------------------------------------------------------

def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None or not _takes(input) or input.dim() == 0 or dtype not in (None, *_DTYPES):
        return F.softmax(input, dim, _stacklevel + 1, dtype)
    input = input if dtype is None else input.to(dtype)
    return _ops.softmax(input, axis=dim, want_stats=False)[0]


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None or not _takes(input) or input.dim() == 0 or dtype not in (None, *_DTYPES):
        return F.log_softmax(input, dim, _stacklevel + 1, dtype)
    return _ops.log_softmax(input if dtype is None else input.to(dtype), axis=dim, want_stats=False)[0]


def _normalizes(input, normalized_shape, *parameters):
    """Whether PyTorch would take these, and the library does."""
    shape, given = tuple(normalized_shape), [p for p in parameters if p is not None]
    return (_takes(input, *given) and 0 < len(shape) <= input.dim() and input.shape[-len(shape):] == shape
            and all(p.dtype is input.dtype and p.shape == shape for p in given))


def _autocast(input, output):
    """PyTorch's norms return float32 under autocast on a GPU, but not on the CPU."""
    return output if output.is_cuda else output.to(input.dtype)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    if not _normalizes(input, normalized_shape, weight):
        return F.rms_norm(input, normalized_shape, weight, eps)
    if eps is None: # that of the dtype that PyTorch computes in
        eps = torch.finfo(torch.promote_types(input.dtype, torch.float32)).eps
    output = _ops.rms_norm(input, weight, axis=-len(normalized_shape), epsilon=eps)[0]
    return _autocast(input, output)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    if not _normalizes(input, normalized_shape, weight, bias) or weight is None and bias is not None:
        return F.layer_norm(input, normalized_shape, weight, bias, eps)
    output = _ops.layer_norm(input, weight, bias, axis=-len(normalized_shape), epsilon=eps,
                             want_normalized=False)[0]
    return _autocast(input, output)


def _mean(loss, target, weight, ignore_index):
    counted = target != ignore_index
    if weight is None:
        return loss.sum() / counted.sum()
    return loss.sum() / (weight[target.where(counted, 0)] * counted).sum()


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
           if getattr(value, "__module__", None) == __name__ and not name.startswith("_")]
