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

from .._describe import renamed
from . import second, table

GRADIENT, INPUT, OUTPUT = range(3)


class Pair:
    """What a forward operator keeps for its backward, and where each argument comes from."""

    def __init__(self, op, back):
        self.op, self.back = op, back
        self.backward = getattr(torch.ops.vjp, back.name).default
        self.fixed = {}
        self.sources = tuple(self._source(t.name) for t in back.inputs)
        defaults = {a.name: a.default for a in back.attrs}
        self.fixed = {name: value for name, value in self.fixed.items() if defaults[name] != value}
        gradients = {t.name: i for i, t in enumerate(back.outputs)}
        self.gradient_of = tuple(gradients.get(renamed(back.name, f"diff_{t.name}")) for t in op.inputs)
        # A gradient has the shape of its input, or of another one, which must then be given.
        self.shaped_by = tuple(None if i is None else back.input_names[back.like(back.outputs[i])]
                               for i in self.gradient_of)
        self.shared = tuple(a.name for a in op.attrs
                            if a.name in back.attr_names and a.name not in self.fixed)
        # What only the forward pass knows must not change the derivative.
        self.unknown = tuple(a for a in op.attrs if a.name not in back.attr_names
                             and a.role in (table.CONSTANT, table.CHOICE))
        # The backward has no word for a format that does not apply; then channels are the last dim.
        self.channels = next((a.name for a in op.attrs if a.role == table.CHANNELS), None)
        self.formats = {a.name: "NXC" for a in back.attrs if a.role == table.FORMAT}
        self.wants = tuple(f"want_{t.name}" for t in op.outputs)
        self.differentiable = tuple(i for kind, i in self.sources if kind == GRADIENT)
        self.constants = tuple(i for i in range(len(op.outputs)) if i not in self.differentiable)
        self.optional_gradients = tuple(
            (f"want_{t.name}", tuple(k for k, gradient in enumerate(self.gradient_of) if gradient == i))
            for i, t in enumerate(back.outputs) if t.is_optional)

    def _source(self, name):
        op, name = self.op, renamed(self.back.name, name)
        if name.startswith("diff_") and name[5:] in op.output_names:
            return GRADIENT, op.output_names.index(name[5:])
        if name == "src" and "dst" in op.output_names and "use_dst" in self.back.attr_names:
            # From dst only where nothing is lost (a hint) and that is the usual way: dst is alive
            # anyway, and src need not be.
            usual = next(a for a in self.back.attrs if a.name == "use_dst")
            self.fixed["use_dst"] = usual.role == table.HINT and usual.default
            if self.fixed["use_dst"]:
                return OUTPUT, op.output_names.index("dst")
        if name in op.input_names:
            return INPUT, op.input_names.index(name)
        return OUTPUT, op.output_names.index(name)

    def refuse(self, inputs, kwargs):
        """Raise where the requested gradient is not what the backward computes."""
        for tensor, info, gradient in zip(inputs, self.op.inputs, self.gradient_of):
            if gradient is None and tensor is not None and tensor.requires_grad:
                raise NotImplementedError(f"{self.op.name}: has no gradient for {info.name}")
        for tensor, info, other in zip(inputs, self.op.inputs, self.shaped_by):
            if (tensor is not None and tensor.requires_grad and other in self.op.input_names
                    and inputs[self.op.input_names.index(other)] is None):
                raise NotImplementedError(f"{self.op.name}: has no gradient for {info.name} without {other}")
        for attr in self.unknown:
            if kwargs.get(attr.name, attr.default) != attr.default:
                raise NotImplementedError(f"{self.op.name}: has no gradient for an attribute "
                                          f"{attr.name} other than {attr.default}")

    def save(self, ctx, inputs, outputs, kwargs):
        tensors = []
        for kind, i in self.sources:
            if kind == INPUT:
                tensors.append(inputs[i])
            elif kind == OUTPUT:
                wanted = kwargs.get(self.wants[i], True)
                tensors.append(outputs[i] if wanted else None)
        ctx.save_for_backward(*tensors)
        ctx.settings = {name: kwargs[name] for name in self.shared if name in kwargs}
        if self.channels and not kwargs.get(self.channels, True):
            ctx.settings |= self.formats
        if len(outputs) > 1:
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*(outputs[i] for i in self.constants))

    def differentiate(self, ctx, grads):
        """The gradients of the inputs, None where there is none."""
        saved = iter(ctx.saved_tensors)
        tensors = [grads[i] if kind == GRADIENT else next(saved) for kind, i in self.sources]
        if all(grads[i] is None for i in self.differentiable):
            return (None,) * len(self.gradient_of)
        tensors = [torch.zeros_like(tensors[0]) if tensor is None and not info.is_optional else tensor
                   for tensor, info in zip(tensors, self.back.inputs)] # one of two outputs was not used
        if forward_ad._current_level >= 0:
            _refuse_forward_mode(self.back, tensors)
        needed = ctx.needs_input_grad[2:]
        kwargs = {**ctx.settings, **self.fixed}
        for want, inputs in self.optional_gradients:
            kwargs[want] = any(needed[i] for i in inputs)
        if torch.is_grad_enabled(): # create_graph=True
            results = second.Backward.apply(self, kwargs, *tensors)
        else:
            results = _call_below(self.backward, tensors, kwargs)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(results[gradient] if need and gradient is not None else None
                     for need, gradient in zip(needed, self.gradient_of))


def _has_tangent(tensor):
    try:
        return forward_ad.unpack_dual(tensor).tangent is not None
    except RuntimeError: # torch.vmap does not allow the query: torch.func.jacfwd, hessian
        return True


def _refuse_forward_mode(op, tensors):
    """Where forward_ad._current_level is 0 or more, which it is while something is differentiated
    forward: PyTorch would drop the tangents in silence."""
    if any(tensor is not None and _has_tangent(tensor) for tensor in tensors):
        raise NotImplementedError(f"{op.name}: vjp computes vector-Jacobian products; it has no "
                                  "forward-mode derivatives")


def _call_below(target, tensors, kwargs):
    """Call a backward without its own Autograd kernel, which would take a third of the time."""
    if _C._are_functorch_transforms_active(): # they have levels of autograd, and exclude none
        return target(*tensors, **kwargs)
    with _C._AutoDispatchBelowAutograd():
        return target(*tensors, **kwargs)


def _plain_keysets():
    """{keys of tensors on one device with which nothing but autograd is done: those of the device}"""
    pairs = (("CPU", "AutogradCPU"), ("CUDA", "AutogradCUDA"))
    keysets = ([_C.DispatchKeySet(getattr(_C.DispatchKey, key)) for key in pair] for pair in pairs)
    return {(device | autograd).raw_repr(): device for device, autograd in keysets}


def _below(op):
    """The operator as its Autograd kernel calls it."""
    target = getattr(torch.ops.vjp, op.name).default
    redispatch = target._handle.redispatch_boxed # target.redispatch without a call in Python
    plain = _plain_keysets()

    def below(keyset, inputs, kwargs):
        device = plain.get(keyset.raw_repr())
        if device is not None: # the kernel in C++ is next: no call in between needs a guard
            return redispatch(device, *inputs, **kwargs)
        with _C._AutoDispatchBelowAutograd():
            return redispatch(keyset & _C._after_autograd_keyset, *inputs, **kwargs)
    return below


def _function(op, forward, backward):
    """apply of an autograd function. Function itself is for calls from outside the dispatcher; in a
    kernel functorch has already chosen the level that is differentiated."""
    apply = type(f"{op.name}_of_vjp", (_SingleLevelFunction,),
                 {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply

    def call(*args):
        if not _C._are_functorch_transforms_active():
            return apply(*args)
        with enable_single_level_autograd_function():
            return apply(*args)
    return call


def _general(pair, below):
    """forward and backward of a pair's autograd function."""
    def forward(ctx, keyset, kwargs, *inputs):
        output = below(keyset, inputs, kwargs)
        pair.save(ctx, inputs, output if isinstance(output, tuple) else (output,), kwargs)
        return output

    def backward(ctx, *grads):
        return None, None, *pair.differentiate(ctx, grads)
    return forward, backward


def _unary(pair, device):
    """The same for one tensor in and one out without attributes, as most activations are, on a device
    that is known: the general code would be a fifth of the time of a small call."""
    keeps_output = OUTPUT in (kind for kind, _ in pair.sources)
    gradient_first = pair.sources[0][0] == GRADIENT
    settings, backward_op = pair.fixed, pair.backward
    redispatch = getattr(torch.ops.vjp, pair.op.name).default._handle.redispatch_boxed

    def forward(ctx, src):
        output = redispatch(device, src)
        ctx.save_for_backward(output if keeps_output else src)
        return output

    def backward(ctx, grad):
        saved, = ctx.saved_tensors
        tensors = (grad, saved) if gradient_first else (saved, grad)
        if forward_ad._current_level >= 0:
            _refuse_forward_mode(pair.back, tensors)
        if torch.is_grad_enabled(): # create_graph=True
            return second.Backward.apply(pair, settings, *tensors)
        return _call_below(backward_op, tensors, settings)
    return forward, backward


def kernel(op, back):
    """The Autograd kernel of a forward operator."""
    pair, below = Pair(op, back), _below(op)
    ninputs = len(op.inputs)
    is_unary = ninputs == len(op.outputs) == len(back.outputs) == 1 and len(back.inputs) == 2 \
        and not op.attrs
    apply = _function(back, *_general(pair, below))
    unary = {keys: _function(back, *_unary(pair, device))
             for keys, device in _plain_keysets().items()} if is_unary else {}

    def choose(keyset, *inputs, **kwargs):
        if forward_ad._current_level >= 0:
            _refuse_forward_mode(op, inputs)
        if not torch.is_grad_enabled() or not _C._any_requires_grad(*inputs):
            return below(keyset, inputs, kwargs)
        if unary and (apply_unary := unary.get(keyset.raw_repr())):
            return apply_unary(*inputs)
        inputs += (None,) * (ninputs - len(inputs)) # the dispatcher leaves out defaults
        pair.refuse(inputs, kwargs)
        return apply(keyset, kwargs, *inputs)
    return choose


def refusing_kernel(op):
    """The Autograd kernel of an operator without a gradient, as all backwards are. PyTorch would only
    warn, and drop the tangents of forward mode in silence."""
    below = _below(op)

    def forward(ctx, keyset, kwargs, *inputs):
        return below(keyset, inputs, kwargs)

    def backward(ctx, *grads):
        raise NotImplementedError(f"{op.name}: vjp has no derivative of this operator")
    apply = _function(op, forward, backward)

    def choose(keyset, *inputs, **kwargs):
        if forward_ad._current_level >= 0:
            _refuse_forward_mode(op, inputs)
        if not torch.is_grad_enabled() or not _C._any_requires_grad(*inputs):
            return below(keyset, inputs, kwargs)
        return apply(keyset, kwargs, *inputs)
    return choose
