# SPDX-License-Identifier: Apache-2.0
"""Second derivatives: a backward's own, for create_graph=True.

The first derivative is the library's. To differentiate it again its formula is written here in
PyTorch's operations, which PyTorch can differentiate as often as it likes. A backward without a
formula here is refused then, in a sentence.
"""
import torch
import torch.nn.functional as F

from . import shapes, table


class Backward(torch.autograd.Function):
    """A call of a backward operator that may itself be differentiated."""
    generate_vmap_rule = True

    @staticmethod
    def forward(pair, kwargs, *tensors):
        return pair.backward(*tensors, **kwargs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pair, kwargs, *tensors = inputs
        ctx.pair, ctx.kwargs = pair, kwargs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, *grads):
        back = ctx.pair.back
        if back.name not in FORMULAS:
            raise NotImplementedError(f"{back.name}: vjp has no second derivative of "
                                      f"{ctx.pair.op.name}")
        with torch.enable_grad():
            # Aliases: diff_dst may depend on dst, and that path is not this formula's.
            tensors = [t if t is None else t.view_as(t) for t in ctx.saved_tensors]
            results = FORMULAS[back.name](back, back.settings(ctx.kwargs), *tensors)
        leaves = [t for t in tensors if t is not None and t.requires_grad]
        results = results if isinstance(results, tuple) else (results,)
        wanted = [(r, g) for r, g in zip(results, grads)
                  if g is not None and g.numel() == r.numel() and r.requires_grad]
        found = torch.autograd.grad([r for r, _ in wanted], leaves, [g for _, g in wanted],
                                    create_graph=torch.is_grad_enabled(), allow_unused=True)
        by_tensor = {id(t): g for t, g in zip(leaves, found)}
        return (None, None, *(by_tensor.get(id(t)) for t in tensors))


# ---- the formulas: f(operator, attributes, tensors...) ---------------------------------------------

# Forward passes in PyTorch's operations; their backward is PyTorch's.
_FORWARDS = {
    "abs": lambda a, x: x.abs(),
    "clamp": lambda a, x: x.clamp(a["min"], a["max"]),
    "elu": lambda a, x: a["scale"] * torch.where(
        x > 0, x, a["alpha"] * torch.expm1(a["input_scale"] * x.clamp(max=0))),
    "exp": lambda a, x: x.exp(),
    "geglu": lambda a, gate, up: F.gelu(gate, approximate=a["mode"][5:].replace("erf", "none")) * up,
    "gelu": lambda a, x: F.gelu(x, approximate=a["mode"][5:].replace("erf", "none")),
    "glu": lambda a, gate, up: gate.sigmoid() * up,
    "hard_shrink": lambda a, x: torch.where(x.abs() > a["lambd"], x, 0),
    "hard_sigmoid": lambda a, x: (a["alpha"] * x + a["beta"]).clamp(0, 1),
    "hard_swish": lambda a, x: x * (x / 6 + 0.5).clamp(0, 1),
    "leaky_relu": lambda a, x: torch.where(x > 0, x, a["alpha"] * x),
    "log": lambda a, x: x.log(),
    "log_sigmoid": lambda a, x: F.logsigmoid(x),
    "mish": lambda a, x: x * F.softplus(x).tanh(),
    "prelu": lambda a, x, slope: torch.where(x > 0, x, x * slope),
    "reciprocal": lambda a, x: x.reciprocal(),
    "reglu": lambda a, gate, up: gate.relu() * up,
    "relu": lambda a, x: x.relu(),
    "relu_squared": lambda a, x: x.relu().square(),
    "sigmoid": lambda a, x: x.sigmoid(),
    "silu": lambda a, x: x * (a["alpha"] * x).sigmoid(),
    "soft_shrink": lambda a, x: x - x.clamp(-a["lambd"], a["lambd"]),
    "softplus": lambda a, x: -F.logsigmoid(-a["beta"] * x) / a["beta"],
    "softsign": lambda a, x: x / (1 + x.abs()),
    "sqrt": lambda a, x: x.sqrt(),
    "square": lambda a, x: x.square(),
    "swiglu": lambda a, gate, up: _swiglu(gate.clamp(max=a["limit"]), up.clamp(-a["limit"], a["limit"]),
                                          a),
    "tanh": lambda a, x: x.tanh(),
    "tanh_shrink": lambda a, x: x - x.tanh(),
    "threshold": lambda a, x: torch.where(x > a["threshold"], x, a["value"]),
}


def _swiglu(gate, up, attrs):
    return gate * (attrs["alpha"] * gate).sigmoid() * (up + attrs["bias"])


def _of_forward(back, attrs, *tensors):
    """The backward of a forward pass above, from all its inputs and diff_dst."""
    *inputs, diff_dst = (t if t.requires_grad else t.detach().requires_grad_() for t in tensors)
    wide = [t.reshape(shapes.param_shape(back, attrs, t.shape, inputs[0].dim())).to(inputs[0].dtype)
            if info.shape_rule == table.PARAM else t for t, info in zip(inputs, back.inputs)]
    dst = _FORWARDS[back.name.removesuffix("_backward")](attrs, *wide)
    return torch.autograd.grad(dst, inputs, diff_dst, create_graph=True, materialize_grads=True)


def _norm(back, attrs, src, gamma, *others):
    """Of src, gamma, statistics, which are computed anew, and diff_dst."""
    diff_dst = others[-1]
    leaves = [t if t.requires_grad else t.detach().requires_grad_() for t in (src, gamma) if t is not None]
    x, rows = leaves[0], shapes.row_dims(back, attrs, src.dim())
    has_mean = back.name.startswith("layer_norm")
    x = x - x.mean(rows, keepdim=True) if has_mean else x
    dst = x * (x.square().mean(rows, keepdim=True) + attrs["epsilon"]).rsqrt()
    if gamma is not None:
        shape = shapes.param_shape(back, attrs, gamma.shape, src.dim())
        dst = dst * (leaves[1].reshape(shape) + attrs.get("offset", 0))
    found = torch.autograd.grad(dst, leaves, diff_dst, create_graph=True)
    if has_mean and gamma is not None:
        found += (diff_dst.sum_to_size(shape).reshape(gamma.shape),)
    return found


def _kept(back, attrs, data, mask, length):
    """The elements that a softmax does not leave out."""
    axis, = shapes.row_dims(back, attrs, data.dim())
    n, others = data.shape[axis], [d for d in range(data.dim()) if d != axis]

    def along(dim):
        return torch.arange(data.shape[dim], device=data.device).reshape(
            [-1 if d == dim else 1 for d in range(data.dim())])
    kept = torch.ones_like(data, dtype=torch.bool)
    if mask is not None:
        kept = kept & mask.reshape(shapes.param_shape(back, attrs, mask.shape, data.dim())).bool()
    if length is not None:
        kept = kept & (along(axis) < length.reshape([data.shape[d] for d in others]).unsqueeze(axis))
    if attrs["causal"] and others:
        kept = kept & (along(axis) < along(others[-1]) + 1 + n - data.shape[others[-1]])
    return kept


def _log_softmax(back, attrs, diff_dst, dst, mask, length):
    kept = _kept(back, attrs, dst, mask, length)
    total = diff_dst.where(kept, 0).sum(attrs["axis"], keepdim=True)
    return attrs["scale"] * (diff_dst - dst.exp() * total).where(kept, 0)


def _softmax(back, attrs, diff_dst, dst, mask, length):
    kept = _kept(back, attrs, dst, mask, length)
    total = (diff_dst * dst).where(kept, 0).sum(attrs["axis"], keepdim=True)
    return (attrs["scale"] * dst * (diff_dst - total)).where(kept, 0)


def _cross_entropy(back, attrs, src, label, weight, stats, others, diff_loss):
    x = src if src.requires_grad else src.detach().requires_grad_()
    label = label.reshape(diff_loss.shape).long()
    moved = x.movedim(attrs["axis"], 1) if x.dim() > 1 else x
    loss = F.cross_entropy(moved, label, weight, ignore_index=attrs["ignore_index"],
                           reduction="none", label_smoothing=attrs["label_smoothing"])
    if attrs["z_loss"]:
        counted = label != attrs["ignore_index"]
        share = 1 if weight is None else weight[label.where(counted, 0)]
        square = x.logsumexp(attrs["axis"]).square()
        loss = loss + counted * share * attrs["z_loss"] * square
    return torch.autograd.grad(loss, x, diff_loss, create_graph=True)[0]


FORMULAS = {f"{name}_backward": _of_forward for name in _FORWARDS}
FORMULAS |= {"softmax_backward": _softmax, "log_softmax_backward": _log_softmax,
             "rms_norm_backward": _norm, "layer_norm_backward": _norm,
             "cross_entropy_backward": _cross_entropy}
