# SPDX-License-Identifier: Apache-2.0
"""Differentiable functions: an operator `name` of the table with `name_backward` as its gradient.

Those that jax.nn has are named as there, with its parameters and defaults first.
"""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np

from .. import _aliases, _describe
from .._describe import CHANNELS, CHOICE, CONSTANT, FORMAT
from . import _calls

# What jax.nn has for defaults where the table has others, or none.
DEFAULTS = {
    "hard_sigmoid": {"alpha": 1 / 6, "beta": 0.5},
    "log_softmax": {"axis": -1},
    "softmax": {"axis": -1},
}


def _gelu(approximate=True):
    return {"mode": "gelu_tanh" if approximate else "gelu_erf"}


def _leaky_relu(negative_slope=0.01):
    return {"alpha": negative_slope}


# Names of jax.nn, as _aliases.ALIASES has them.
NAMES = {
    "gelu": ("gelu", _gelu),
    "leaky_relu": ("leaky_relu", _leaky_relu),
    "hard_tanh": ("clamp", lambda: {"min": -1.0, "max": 1.0}),
    "hard_silu": ("hard_swish", lambda: {}),
    "soft_sign": ("softsign", lambda: {}),
}


def functions(table):
    ops = {op["name"]: op for op in table}
    made = {}
    for backward in table:
        name = backward["name"].removesuffix("_backward")
        if name in ops and name != backward["name"]:
            made[name] = _function(name, ops[name], backward)
    made.update(_aliases.aliases(made, suffixes=("",)))
    made.update(_aliases.aliases(made, NAMES, suffixes=("",)))
    if "glu" in made:
        made["glu"] = glu(made["glu"])
    for name, masked in (("softmax", 0), ("log_softmax", -jnp.inf)):
        if name in made:
            made[name] = with_where(made[name], masked)
    return made


# ---- functions that take other arrays than the operator --------------------------------------------


def glu(operator):
    def glu(src, axis=-1):
        up, gate = jnp.split(src, 2, axis)
        return operator(gate, up)

    return _described(glu, "src is split into halves along axis: the first times sigmoid of the second, "
                           "with glu_backward as its gradient.\n")


def with_where(operator, masked):
    """A function with jax.nn's mask; what is masked gets this value."""
    def function(src, axis=-1, where=None, **settings):
        if where is None:
            return operator(src, axis=axis, **settings)
        where = jnp.asarray(where)
        where = where.reshape((1,) * (jnp.ndim(src) - where.ndim) + where.shape)
        results = operator(src, axis=axis, mask=where, **settings)
        dst, *others = results if isinstance(results, tuple) else (results,)
        dst = jnp.where(where, dst, masked)
        return (dst, *others) if others else dst

    others = [p.replace(kind=p.KEYWORD_ONLY) for p in inspect.signature(operator).parameters.values()
              if p.name not in ("src", "axis")]
    own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    function.__signature__ = inspect.Signature(own + sorted(others, key=lambda p: p.name))
    function.__name__ = operator.__name__
    return _described(function, operator.__doc__ + "where is jax.nn's: a mask that broadcasts to src.\n")


def _described(function, text):
    function.__qualname__, function.__module__, function.__doc__ = function.__name__, "vjp.jax", text
    return function


# ---- a pair as a function --------------------------------------------------------------------------


def _function(name, forward, backward):
    """Call the pair with the signature of the forward operator and the defaults of jax.nn."""
    defaults = DEFAULTS.get(name, {})
    attrs = {attr["name"]: attr for attr in forward["attrs"]}
    inputs = [tensor["name"] for tensor in forward["inputs"]]
    parameters = []
    for key, kind, _, default in _describe.parameters(forward):
        if key == "out":
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
        pair = _Pair(forward, backward, names, settings, _wanted(forward, given.get("want")))
        results = _apply(pair, *(pair.guard(key, array) for key, array in zip(names, arrays)))
        results = tuple(result if name in pair.required() else jax.lax.stop_gradient(result)
                        for name, result in zip(pair.want, results))
        return results if len(results) > 1 else results[0]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "vjp.jax"
    function.__signature__ = signature
    function.__doc__ = f"{forward['formula']}, with {backward['name']} as its gradient.\n"
    if "want" in signature.parameters:
        function.__doc__ += "\nwant names the outputs to return; no gradient flows through optional ones.\n"
    return function


def _wanted(forward, want):
    """The names of the outputs to return, in the order of the table: those that are not optional, or
    those asked for."""
    required = [t["name"] for t in forward["outputs"] if not _describe.is_optional(t)]
    if want is None:
        return tuple(required)
    named = [t["name"] for t in _calls.wanted(forward, {}, want)]
    for name in required:
        if name not in named:
            raise ValueError(f"{forward['name']}: want: {name} cannot be left out")
    return tuple(named)


class _Pair:
    """A forward operator, the backward one, and the inputs, attributes and outputs of a call."""

    def __init__(self, forward, backward, names, settings, want):
        self.forward, self.backward = forward, backward
        self.names, self.settings, self.want = names, settings, want
        self.key = forward["name"], names, settings, want

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def needed(self, tensors):
        """Which of these the backward operator takes."""
        names = (_describe.renamed(self.backward["name"], t["name"]) for t in self.backward["inputs"])
        return [name for name in names if name in tensors]

    def gradient(self, name):
        """What the backward operator calls the gradient of an input."""
        return _describe.renamed(self.backward["name"], "diff_" + name)

    def run(self, arrays, want):
        """The wanted outputs of the forward pass, by name."""
        tensors, settings = dict(zip(self.names, arrays)), dict(self.settings)
        results = _calls.call(self.forward, tensors, settings, want)
        return dict(zip(want, results if isinstance(results, tuple) else (results,)))

    def required(self):
        return [t["name"] for t in self.forward["outputs"] if not _describe.is_optional(t)]

    def backward_settings(self):
        """The attributes of the backward operator. It has none to say that the format does not apply,
        which is what the channels are last for; and what it does not know must not matter."""
        known = {attr["name"]: attr for attr in self.backward["attrs"]}
        given = dict(self.settings)
        settings = {name: value for name, value in given.items() if name in known}
        for attr in self.forward["attrs"]:
            name, role = attr["name"], attr["role"]
            if name in known or given[name] == attr["default"]:
                continue
            if role == CHANNELS:
                settings.update({key: "NXC" for key in known if known[key]["role"] == FORMAT})
            elif role in (CONSTANT, CHOICE):
                raise NotImplementedError(f"{self.forward['name']}: has no gradient for an attribute "
                                          f"{name} other than {attr['default']}")
        return settings

    def guard(self, name, array):
        """Differentiating by an input that the backward operator has no gradient of is an error."""
        known = any(t["name"] == self.gradient(name) for t in self.backward["outputs"])
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
    return tuple(pair.run(arrays, pair.want).values())


def _forward(pair, *arrays):
    outputs = [t["name"] for t in pair.forward["outputs"]]
    needed = pair.needed(outputs)
    results = pair.run(arrays, [name for name in outputs if name in pair.want or name in needed])
    kept = {n: a for n, a in {**dict(zip(pair.names, arrays)), **results}.items()
            if n in pair.needed({**results, **dict.fromkeys(pair.names)})}
    shapes = tuple(jnp.zeros((0,) + a.shape, a.dtype) for a in arrays)  # carry shape and dtype only
    return tuple(results[name] for name in pair.want), (kept, shapes)


def _backward(pair, saved, cotangents):
    kept, shapes = saved
    tensors = {**kept, **{"diff_" + name: c for name, c in zip(pair.want, cotangents)}}
    sources = {t["name"]: _describe.renamed(pair.backward["name"], t["name"])
               for t in pair.backward["inputs"]}
    tensors = {name: tensors[source] for name, source in sources.items() if source in tensors}
    settings = pair.backward_settings()
    if any(attr["name"] == "use_dst" for attr in pair.backward["attrs"]):
        settings["use_dst"] = False  # from src, which loses no digits
    outputs = [t["name"] for t in pair.backward["outputs"]]
    asked = {pair.gradient(name) for name in pair.names}
    want = [name for name in outputs if name in asked]
    results = _calls.call(pair.backward, tensors, settings, want)
    gradients = dict(zip(want, results if isinstance(results, tuple) else (results,)))
    return tuple(gradients.get(pair.gradient(name), _zero(shape)) for name, shape in zip(pair.names, shapes))


def _zero(shape):
    """No gradient: of an integer, or of an input that guard() has made a constant."""
    if jnp.issubdtype(shape.dtype, jnp.floating):
        return jnp.zeros(shape.shape[1:], shape.dtype)
    return np.zeros(shape.shape[1:], jax.dtypes.float0)


_apply.defvjp(_forward, _backward)
