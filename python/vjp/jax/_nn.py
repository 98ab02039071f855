# SPDX-License-Identifier: Apache-2.0
"""Differentiable functions: an operator `name` of the table with `name_backward` as its gradient.

Where the table has only the backward pass, a forward pass of jax.nn stands in.
"""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np

from .. import _describe
from . import _calls

# What jax.nn has for defaults where the table has others, or none.
DEFAULTS = {
    "hard_sigmoid": {"alpha": 1 / 6, "beta": 0.5},
    "log_softmax": {"axis": -1},
    "softmax": {"axis": -1},
}

# Forward passes for backward operators whose forward is not in the table.
FORWARDS = {
    "hard_sigmoid": lambda src, alpha, beta: jnp.clip(alpha * src + beta, 0, 1).astype(src.dtype),
    "relu": jax.nn.relu,
    "sigmoid": jax.nn.sigmoid,
    "softmax": jax.nn.softmax,
}


def functions(table):
    ops = {op["name"]: op for op in table}
    made = {}
    for name, backward in ops.items():
        name = name.removesuffix("_backward")
        forward = ops.get(name)
        if backward is not forward and (forward or name in FORWARDS):
            made[name] = _function(name, forward or _stand_in(name, backward), backward)
    return made


def _stand_in(name, backward):
    """An entry of the table for a forward pass that is not in it."""
    tensor = {"dtype_rule": 1, "shape_rule": 1, "flags": 0}
    attrs = [attr for attr in backward["attrs"] if attr["name"] != "use_dst"]
    return {"name": name, "title": name, "formula": f"jax.nn.{name}", "attrs": attrs, "bounds": [],
            "inputs": [{**tensor, "name": "src"}], "outputs": [{**tensor, "name": "dst"}]}


def _function(name, forward, backward):
    """Call the pair with the signature of the forward operator and the defaults of jax.nn."""
    defaults = DEFAULTS.get(name, {})
    attrs = {attr["name"]: attr for attr in forward["attrs"]}
    inputs = [tensor["name"] for tensor in forward["inputs"]]
    parameters = []
    for key, kind, _, default in _describe.parameters(forward):
        if key in ("out", "want"):
            continue
        parameter = _calls.parameter(key, kind, default)
        if key in attrs:  # as in jax.nn, they may be positional
            parameter = parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD,
                                          default=defaults.get(key, parameter.default))
        parameters.append(parameter)
    parameters.sort(key=lambda p: (p.kind, p.default is not p.empty))
    signature = inspect.Signature(parameters)

    def function(*args, **keywords):
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        given = bound.arguments
        settings = tuple((key, _calls.setting(forward, attrs[key], given[key])) for key in attrs)
        names = tuple(key for key in inputs if given[key] is not None)
        arrays = _calls.align(*(jnp.asarray(given[key]) for key in names))
        pair = _Pair(forward, backward, names, settings)
        return _apply(pair, *(pair.guard(key, array) for key, array in zip(names, arrays)))

    function.__name__ = function.__qualname__ = name
    function.__module__ = "vjp.jax"
    function.__signature__ = signature
    function.__doc__ = f"{forward['formula']}, with {backward['name']} as its gradient.\n"
    return function


class _Pair:
    """A forward operator, the backward one, and the inputs and attributes of a call."""

    def __init__(self, forward, backward, names, settings):
        self.forward, self.backward = forward, backward
        self.names, self.settings = names, settings
        self.key = forward["name"], names, settings

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def needed(self, tensors):
        """Which of these the backward operator takes."""
        return [t["name"] for t in self.backward["inputs"] if t["name"] in tensors]

    def run(self, arrays, want):
        """The wanted outputs of the forward pass, by name."""
        tensors, settings = dict(zip(self.names, arrays)), dict(self.settings)
        if self.forward["title"] == self.forward["name"]:  # a stand-in
            return {"dst": FORWARDS[self.forward["name"]](*arrays, **settings)}
        results = _calls.call(self.forward, tensors, settings, want)
        return dict(zip(want, results if isinstance(results, tuple) else (results,)))

    def required(self):
        return [t["name"] for t in self.forward["outputs"] if not _describe.is_optional(t)]

    def guard(self, name, array):
        """Differentiating by an input that the backward operator has no gradient of is an error."""
        known = any(t["name"] == "diff_" + name for t in self.backward["outputs"])
        if known or not jnp.issubdtype(array.dtype, jnp.floating):
            return array
        return _constant(self.forward["name"], name, array)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _constant(function, name, array):
    return array


@_constant.defjvp
def _constant_jvp(function, name, primals, tangents):
    raise TypeError(f"{function} has no gradient with respect to {name}; use jax.lax.stop_gradient")


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _apply(pair, *arrays):
    results = pair.run(arrays, pair.required())
    return tuple(results.values()) if len(results) > 1 else next(iter(results.values()))


def _forward(pair, *arrays):
    outputs = [t["name"] for t in pair.forward["outputs"]]
    wanted = pair.required() + [n for n in pair.needed(outputs) if n not in pair.required()]
    wanted = [name for name in outputs if name in wanted]  # in the order of the table
    results = pair.run(arrays, wanted)
    kept = {n: a for n, a in {**dict(zip(pair.names, arrays)), **results}.items()
            if n in pair.needed({**results, **dict.fromkeys(pair.names)})}
    shapes = tuple(jnp.zeros((0,) + a.shape, a.dtype) for a in arrays)  # carry shape and dtype only
    results = [results[name] for name in pair.required()]
    return (tuple(results) if len(results) > 1 else results[0]), (kept, shapes)


def _backward(pair, saved, cotangents):
    kept, shapes = saved
    required = pair.required()
    cotangents = cotangents if len(required) > 1 else (cotangents,)
    tensors = {**kept, **{"diff_" + name: c for name, c in zip(required, cotangents)}}
    tensors = {t["name"]: tensors[t["name"]] for t in pair.backward["inputs"] if t["name"] in tensors}
    attrs = {attr["name"] for attr in pair.backward["attrs"]}
    settings = {name: value for name, value in pair.settings if name in attrs}
    if "use_dst" in attrs:
        settings["use_dst"] = "src" not in kept
    outputs = [t["name"] for t in pair.backward["outputs"]]
    want = [name for name in outputs if name.removeprefix("diff_") in pair.names]
    results = _calls.call(pair.backward, tensors, settings, want)
    gradients = dict(zip(want, results if isinstance(results, tuple) else (results,)))
    return tuple(gradients.get("diff_" + name, _zero(shape)) for name, shape in zip(pair.names, shapes))


def _zero(shape):
    """No gradient: of an integer, or of an input that guard() has made a constant."""
    if jnp.issubdtype(shape.dtype, jnp.floating):
        return jnp.zeros(shape.shape[1:], shape.dtype)
    return np.zeros(shape.shape[1:], jax.dtypes.float0)


_apply.defvjp(_forward, _backward)
