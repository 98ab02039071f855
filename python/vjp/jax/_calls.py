# SPDX-License-Identifier: Apache-2.0
"""A function for each operator of the table, by way of XLA's foreign function interface.

Before a call reaches XLA its tensors are given one canonical form, for which batching and sharding
are simple: a parameter has as many dims as the data, and the axis is counted from the end. A batch
is then one more dim in front of every tensor, and each dim of a tensor is a dim of the data.
"""

import inspect

import jax.numpy as jnp
import numpy as np

from .. import _describe
from .._describe import (AXES, AXIS, BOOL, CAUSAL, CHANNELS, DATA, FORMAT, PARAM, ROW, S64, STR,
                         is_optional)
from ._partition import Call, align, batched

INDEX, MASK, SAME, STAT = 5, 6, 1, 4  # vjp_dtype_rule


def functions(table):
    return {op["name"]: _function(op) for op in table}


def _function(op):
    parameters = [p for p in _describe.parameters(op) if p[0] != "out"]
    signature = inspect.Signature([parameter(name, kind, default) for name, kind, _, default in parameters])
    inputs = [t["name"] for t in op["inputs"]]
    attrs = {a["name"]: a for a in op["attrs"]}

    def function(*args, **keywords):
        bound = signature.bind(*args, **keywords).arguments
        want = bound.pop("want", None)
        tensors = {name: jnp.asarray(bound[name]) for name in inputs if bound.get(name) is not None}
        settings = {name: setting(op, attrs[name], value) for name, value in bound.items()
                    if name in attrs}
        return call(op, tensors, settings, want)

    function.__name__ = function.__qualname__ = op["name"]
    function.__module__ = "vjp.jax"
    function.__signature__ = signature
    function.__doc__ = _describe.docstring(op, in_jax=True)
    return function


def parameter(name, kind, default):
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY if kind == "keyword" else inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=inspect.Parameter.empty if default is None else eval(default))  # literals of ours


def setting(op, attr, value):
    """An attribute as XLA sends it: typed."""
    kind = {BOOL: bool, S64: int, STR: str}.get(attr["type"], float)
    if kind is not str and isinstance(value, str) or kind is str and not isinstance(value, str):
        raise TypeError(f"{op['name']}: {attr['name']}: expected {kind.__name__}, got {type(value).__name__}")
    if kind is int and not isinstance(value, int):
        value = value.__index__()
    return {bool: bool, int: np.int64, float: np.float64, str: str}[kind](value)


# ---- canonical form ------------------------------------------------------------------------------


class Layout:
    """What a call says of dims: which of them rows run along, and where its parameters are."""

    def __init__(self, op, data, settings):
        self.op, self.data, self.ndim = op, data, data.ndim
        self.axis = next((a for a in op["attrs"] if a["role"] in (AXIS, AXES)), None)
        self.axes = ()
        if self.axis:
            self.axes = self._axes(int(settings.get(self.axis["name"], self.axis["default"])))
        roles = {a["role"]: settings.get(a["name"], a["default"]) for a in op["attrs"]}
        self.channels_first = roles.get(FORMAT) == "NCX" and roles.get(CHANNELS, True)
        self.causal = bool(roles.get(CAUSAL)) and len(self.axes) < self.ndim

    def _axes(self, first):
        if not -self.ndim <= first < self.ndim:
            raise ValueError(f"{self.op['name']}: attribute {self.axis['name']}: {first} is out of range, "
                             f"{self.op['inputs'][0]['name']} has {self.ndim} dims")
        first %= self.ndim
        return tuple(range(first, self.ndim if self.axis["role"] == AXES else first + 1))

    def settings(self, settings):
        """The attributes, with the axis counted from the end. A row alone is the last row: it does not
        end at the diagonal, and must not when a batch gives it company."""
        if self.axis:
            settings = {**settings, self.axis["name"]: np.int64(self.axes[0] - self.ndim)}
        causal = {a["name"]: self.causal for a in self.op["attrs"] if a["role"] == CAUSAL}
        return {**settings, **causal}

    def row_shape(self):
        return tuple(n for d, n in enumerate(self.data.shape) if d not in self.axes)

    def param_shape(self, name, shape):
        """A parameter's shape with all dims of the data, 1 where it is broadcast."""
        if len(shape) == 1 and shape[0] != 1 and self.ndim:
            at = self.axes[0] if len(self.axes) == 1 else 1 if self.channels_first and self.ndim > 1 else -1
            full = [1] * self.ndim
            full[at] = shape[0]
        else:
            full = [1] * (self.ndim - len(shape)) + list(shape)
        if len(shape) == 1 and shape[0] == 1:
            full = [1] * self.ndim
        if len(full) != self.ndim or any(n not in (1, m) for n, m in zip(full, self.data.shape)):
            raise ValueError(f"{self.op['name']}: {name}: the shape {tuple(shape)} does not broadcast to "
                             f"that of {self.op['inputs'][0]['name']}, {self.data.shape}")
        return tuple(full)

    def canonical(self, tensor, array):
        """An input in canonical form."""
        if tensor["shape_rule"] == PARAM:
            return array.reshape(self.param_shape(tensor["name"], array.shape))
        if tensor["shape_rule"] == ROW and array.ndim == self.ndim:
            return array.reshape(self.row_shape())
        return array


def _partner(op, tensor, tensors):
    """The input that an output is the gradient of, or the parameter that has its shape."""
    name = tensor["name"].removeprefix("diff_")
    if name != tensor["name"] and name in tensors:
        return name
    if tensor["shape_rule"] != PARAM:
        return None
    others = [t["name"].removeprefix("diff_") for t in op["outputs"] if t["shape_rule"] == PARAM]
    return next((other for other in others if other in tensors), None)


def _dtype(op, tensor, tensors, data):
    rule = tensor["dtype_rule"]
    if rule in (INDEX, MASK):
        return jnp.int32 if rule == INDEX else jnp.uint8
    if rule == STAT or tensor["shape_rule"] == ROW and rule != SAME:
        return jnp.float64 if data.dtype == jnp.float64 else jnp.float32
    partner = _partner(op, tensor, tensors)
    return data.dtype if rule == SAME or partner is None else tensors[partner].dtype


def wanted(op, tensors, want):
    """The outputs to compute: by name, or all gradients whose shape is known."""
    names = [t["name"] for t in op["outputs"]]
    if want is not None:
        want = [want] if isinstance(want, str) else list(want)
        for name in want:
            if name not in names:
                raise ValueError(f"{op['name']}: want: {name!r} is not the name of an output")
        return [t for t in op["outputs"] if t["name"] in want]
    return [t for t in op["outputs"] if not is_optional(t) or (
        t["name"].startswith("diff_") and (t["shape_rule"] != PARAM or _partner(op, t, tensors)))]


def _output(op, tensor, tensors, names, data):
    """An output, as _partition.Call has it."""
    partner = _partner(op, tensor, tensors)
    if tensor["shape_rule"] == PARAM and partner is None:
        raise ValueError(f"{op['name']}: {tensor['name']}: its shape is unknown without the parameter")
    dtype = np.dtype(_dtype(op, tensor, tensors, data)).name
    like = names.index(partner) if tensor["shape_rule"] == PARAM else 0
    return tensor["name"], tensor["shape_rule"], dtype, like


def call(op, tensors, settings, want=None):
    """Call an operator; the result is one array, or a tuple of several."""
    first = op["inputs"][0]["name"]
    data = tensors[first]
    given = [t for t in op["inputs"] if t["name"] in tensors]
    for tensor in given:
        shape = tensors[tensor["name"]].shape
        if tensor["shape_rule"] == DATA and shape != data.shape:
            raise ValueError(f"{op['name']}: {tensor['name']}: the shape is {shape}, {first} has {data.shape}")
    layout = Layout(op, data, settings)
    names = [t["name"] for t in given]
    outputs = [_output(op, t, tensors, names, data) for t in wanted(op, tensors, want)]
    if not outputs:
        raise ValueError(f"{op['name']}: want: no output is left")
    run = batched(Call(op["name"], tuple(sorted(layout.settings(settings).items())),
                       tuple((t["name"], t["shape_rule"]) for t in given), tuple(outputs),
                       len(layout.axes), layout.axes[0] - layout.ndim if layout.axes else 0,
                       layout.causal))
    made = run(*align(*(layout.canonical(t, tensors[t["name"]]) for t in given)))
    made = [array.reshape(tensors[names[like]].shape) if rule == PARAM else array
            for array, (_, rule, _, like) in zip(made, outputs)]
    return made[0] if len(made) == 1 else tuple(made)
