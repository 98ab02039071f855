# SPDX-License-Identifier: Apache-2.0
"""Functions under other common names: an operator of the table with some attributes fixed."""

import functools
import inspect


def _hardtanh(min_val=-1.0, max_val=1.0):
    return {"min": min_val, "max": max_val}


def _relu6():
    return {"min": 0.0, "max": 6.0}


def _selu():
    return {"alpha": 1.6732632423543772, "scale": 1.0507009873554805, "input_scale": 1.0}


def _celu(alpha=1.0):
    return {"alpha": alpha, "scale": 1.0, "input_scale": 1.0 / alpha}


def _quick_gelu():
    return {"alpha": 1.702}


def _swish(beta=1.0):
    return {"alpha": beta}


# name: (operator, its attributes). An alias exists where its operator does, and so for _backward.
ALIASES = {
    "hardtanh": ("clamp", _hardtanh),
    "relu6": ("clamp", _relu6),
    "selu": ("elu", _selu),
    "celu": ("elu", _celu),
    "quick_gelu": ("silu", _quick_gelu),
    "swish": ("silu", _swish),
}


def aliases(functions):
    """The aliases of these functions, both by name."""
    made = {}
    for name, (operator, attributes) in ALIASES.items():
        for suffix in ("", "_backward"):
            function = functions.get(operator + suffix)
            if function:
                made[name + suffix] = _alias(name + suffix, function, attributes)
    return made


def _alias(name, function, attributes):
    own = inspect.signature(attributes).parameters
    fixed = attributes()
    others = [p for p in inspect.signature(function).parameters.values() if p.name not in fixed]
    at = sum(p.kind is not p.KEYWORD_ONLY for p in others)
    mine = [p.replace(kind=p.KEYWORD_ONLY) for p in own.values()]

    @functools.wraps(function, assigned=())
    def alias(*args, **keywords):
        values = {key: keywords.pop(key) for key in own if key in keywords}
        for key in keywords:
            if key in fixed:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        return function(*args, **attributes(**values), **keywords)

    del alias.__wrapped__
    alias.__name__ = alias.__qualname__ = name
    alias.__module__ = "vjp"
    alias.__signature__ = inspect.Signature(others[:at] + mine + others[at:])
    settings = ", ".join(f"{key} {value!r}" for key, value in fixed.items())
    defaults = " by default" if own else ""
    alias.__doc__ = f"{function.__name__} with {settings}{defaults}.\n\n{function.__doc__}"
    return alias
