# SPDX-License-Identifier: Apache-2.0
"""Gradients: `name` is differentiated by `name_backward`, paired by the names of their tensors.

The kernel of the Autograd key is our own rather than torch.library.register_autograd's, which is
built for any operator and takes about twice the time. What it does is the same: below autograd the
call goes on to the device, to fake tensors, to a trace.
"""
import torch
import torch.autograd.forward_ad as forward_ad
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from . import second, table

GRADIENT, INPUT, OUTPUT = range(3)


class Pair:
    """What a forward operator keeps for its backward, and where each argument comes from."""

    def __init__(self, op, back):
        self.op, self.back = op, back
        self.backward = getattr(torch.ops.vjp, back.name).default
        self.fixed = {}
        self.sources = tuple(self._source(t.name) for t in back.inputs)
        gradients = {t.name: i for i, t in enumerate(back.outputs)}
        self.gradient_of = tuple(gradients.get(f"diff_{t.name}") for t in op.inputs)
        self.shared = tuple(a.name for a in op.attrs
                            if a.name in back.attr_names and a.name not in self.fixed)
        # What only the forward pass knows must not change the derivative.
        self.unknown = tuple(a for a in op.attrs if a.name not in back.attr_names
                             and a.role in (table.CONSTANT, table.CHOICE))
        self.used = {i for kind, i in self.sources if kind == OUTPUT}
        self.differentiable = {i for kind, i in self.sources if kind == GRADIENT}

    def _source(self, name):
        op = self.op
        if name.startswith("diff_") and name[5:] in op.output_names:
            return GRADIENT, op.output_names.index(name[5:])
        if name == "src" and "dst" in op.output_names and "use_dst" in self.back.attr_names:
            # From dst only where that loses nothing: a hint says that the results are equal.
            role = next(a.role for a in self.back.attrs if a.name == "use_dst")
            self.fixed["use_dst"] = role == table.HINT
            if role == table.HINT:
                return OUTPUT, op.output_names.index("dst")
        if name in op.input_names:
            return INPUT, op.input_names.index(name)
        return OUTPUT, op.output_names.index(name)

    def refuse(self, inputs, kwargs):
        """Raise where the gradient that is asked for is not what the backward computes."""
        for tensor, info, gradient in zip(inputs, self.op.inputs, self.gradient_of):
            if gradient is None and tensor is not None and tensor.requires_grad:
                raise NotImplementedError(f"{self.op.name}: has no gradient for {info.name}")
        for attr in self.unknown:
            if kwargs.get(attr.name, attr.default) != attr.default:
                raise NotImplementedError(f"{self.op.name}: has no gradient for an attribute "
                                          f"{attr.name} other than {attr.default}")


def _save(ctx, pair, inputs, outputs, kwargs):
    tensors = []
    for kind, i in pair.sources:
        if kind == INPUT:
            tensors.append(inputs[i] if i < len(inputs) else None)
        elif kind == OUTPUT:
            wanted = kwargs.get(f"want_{pair.op.outputs[i].name}", True)
            tensors.append(outputs[i] if wanted else None)
    ctx.save_for_backward(*tensors)
    ctx.settings = {name: kwargs[name] for name in pair.shared if name in kwargs} | pair.fixed
    ctx.set_materialize_grads(False)
    rest = [t for i, t in enumerate(outputs) if i not in pair.differentiable]
    if rest:
        ctx.mark_non_differentiable(*rest)


def _differentiate(ctx, pair, grads):
    """The gradients of the inputs, None where there is none."""
    saved = iter(ctx.saved_tensors)
    tensors = [grads[i] if kind == GRADIENT else next(saved) for kind, i in pair.sources]
    if any(t is None for t, (kind, _) in zip(tensors, pair.sources) if kind == GRADIENT):
        return (None,) * len(pair.gradient_of)
    kwargs = dict(ctx.settings)
    needed = ctx.needs_input_grad[-len(pair.op.inputs):]
    for i, output in enumerate(pair.back.outputs):
        if output.is_optional:
            kwargs[f"want_{output.name}"] = any(
                need for need, gradient in zip(needed, pair.gradient_of) if gradient == i)
    if torch.is_grad_enabled(): # create_graph=True
        results = second.Backward.apply(pair, kwargs, *tensors)
    else:
        results = pair.backward(*tensors, **kwargs)
    results = results if isinstance(results, tuple) else (results,)
    return tuple(results[gradient] if need and gradient is not None else None
                 for need, gradient in zip(needed, pair.gradient_of))


def _function(pair, target):
    after, below = _C._after_autograd_keyset, _C._AutoDispatchBelowAutograd
    padding = len(pair.op.inputs)

    def forward(keyset, kwargs, *inputs):
        with below():
            return target.redispatch(keyset & after, *inputs, **kwargs)

    def setup_context(ctx, inputs, output):
        _, kwargs, *inputs = inputs
        _save(ctx, pair, inputs, output if isinstance(output, tuple) else (output,), kwargs)

    def backward(ctx, *grads):
        return (None, None, *_differentiate(ctx, pair, grads))

    members = {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context),
               "backward": staticmethod(backward)}
    # Function itself is for calls from outside the dispatcher; in a kernel functorch has already
    # chosen the level that is differentiated.
    apply = type(f"{pair.back.name}_of_vjp", (_SingleLevelFunction,), members).apply

    def kernel(keyset, *inputs, **kwargs):
        for tensor in inputs:
            if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
                raise NotImplementedError(f"{pair.op.name}: vjp computes vector-Jacobian products "
                                          "alone; it has no forward-mode derivative")
        if torch.is_grad_enabled():
            for tensor in inputs:
                if tensor is not None and tensor.requires_grad:
                    pair.refuse(inputs, kwargs)
                    inputs += (None,) * (padding - len(inputs))
                    if not _C._are_functorch_transforms_active():
                        return apply(keyset, kwargs, *inputs)
                    with enable_single_level_autograd_function():
                        return apply(keyset, kwargs, *inputs)
        with below():
            return target.redispatch(keyset & after, *inputs, **kwargs)
    return kernel


def kernel(op, back):
    """The Autograd kernel of a forward operator."""
    return _function(Pair(op, back), getattr(torch.ops.vjp, op.name).default)
