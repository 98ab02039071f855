# SPDX-License-Identifier: Apache-2.0
"""Second derivatives: a backward's own, for create_graph=True.

The first derivative is the library's. To differentiate it again its formula is written here in
PyTorch's operations, which PyTorch can differentiate as often as it likes. A backward without a
formula here is refused then, in a sentence.
"""
import torch
import torch.nn.functional as F

from . import shapes


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
        wanted = [(r, g) for r, g in zip(results, grads) if g is not None and g.numel() == r.numel()]
        found = torch.autograd.grad([r for r, _ in wanted], leaves, [g for _, g in wanted],
                                    create_graph=torch.is_grad_enabled(), allow_unused=True)
        by_tensor = {id(t): g for t, g in zip(leaves, found)}
        return (None, None, *(by_tensor.get(id(t)) for t in tensors))


# ---- the formulas: f(operator, attributes, tensors...) ---------------------------------------------

def _relu(back, attrs, src, diff_dst):
    return torch.where(src > 0, diff_dst, 0)


def _sigmoid(back, attrs, src, diff_dst):
    dst = src if attrs["use_dst"] else src.sigmoid()
    return diff_dst * dst * (1 - dst)


def _hard_sigmoid(back, attrs, src, diff_dst):
    value = attrs["alpha"] * src + attrs["beta"]
    return torch.where((value > 0) & (value < 1), attrs["alpha"] * diff_dst, 0)


def _prelu(back, attrs, src, slope, diff_dst):
    shape = shapes.param_shape(back, attrs, slope.shape, src.dim())
    wide = slope.reshape(shape).to(src.dtype)
    diff_slope = torch.where(src > 0, 0, diff_dst * src).sum_to_size(shape)
    return (torch.where(src > 0, diff_dst, diff_dst * wide),
            diff_slope.reshape(slope.shape).to(slope.dtype))


def _softmax(back, attrs, diff_dst, dst):
    return dst * (diff_dst - (diff_dst * dst).sum(attrs["axis"], keepdim=True))


def _cross_entropy(back, attrs, src, label, weight, stats, others, diff_loss):
    with torch.enable_grad():
        x = src if src.requires_grad else src.detach().requires_grad_()
        moved = x.movedim(attrs["axis"], 1) if x.dim() > 1 else x
        loss = F.cross_entropy(moved, label.reshape(diff_loss.shape).long(), weight,
                               ignore_index=attrs["ignore_index"], reduction="none",
                               label_smoothing=attrs["label_smoothing"])
        if attrs["z_loss"]:
            counted = label.reshape(diff_loss.shape) != attrs["ignore_index"]
            scale = 1 if weight is None else weight[label.clamp(min=0).long()].reshape(diff_loss.shape)
            loss = loss + counted * scale * attrs["z_loss"] * x.logsumexp(attrs["axis"]) ** 2
        return torch.autograd.grad(loss, x, diff_loss, create_graph=True)[0]


FORMULAS = {
    "relu_backward": _relu,
    "sigmoid_backward": _sigmoid,
    "hard_sigmoid_backward": _hard_sigmoid,
    "prelu_backward": _prelu,
    "softmax_backward": _softmax,
    "cross_entropy_backward": _cross_entropy,
}
