# SPDX-License-Identifier: Apache-2.0
"""What is installed: the module, the program, the type stubs, and names that come by themselves."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vjp
from vjp import _aliases

ROOT = Path(__file__).parents[2]


def test_version_is_that_of_the_header():
    header = (ROOT / "include/vjp/vjp.h").read_text()
    parts = [re.search(rf"VJP_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert vjp.__version__ == ".".join(parts)


def test_import_needs_no_array_library():
    code = "import sys, vjp; print(*(m for m in ('numpy', 'torch', 'jax', 'ml_dtypes') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"\n"


def test_program_is_installed():
    version = subprocess.run([sys.executable, "-m", "vjp", "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and vjp.__version__ in version.stdout


# Those that need a framework run with its tests.
EXAMPLES = [path for path in sorted((ROOT / "examples/python").glob("*.py"))
            if not re.search(r"^import (jax|torch)", path.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example):
    subprocess.run([sys.executable, str(example)], check=True)


def test_stubs_are_those_of_the_functions():
    stub = Path(vjp.__file__).with_name("__init__.pyi").read_text()
    functions = {node.name: node for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef)}
    assert set(functions) == {name for name in vjp.__all__ if callable(getattr(vjp, name))}
    for name, node in functions.items():
        parameters = inspect.signature(getattr(vjp, name)).parameters
        assert [a.arg for a in node.args.args + node.args.kwonlyargs] == list(parameters)
        assert len(node.args.args) == sum(p.kind is not p.KEYWORD_ONLY for p in parameters.values())


def test_aliases_exist_where_their_operators_do():
    for name, (operator, attributes) in _aliases.ALIASES.items():
        for suffix in ("", "_backward"):
            assert hasattr(vjp, name + suffix) == ((operator + suffix) in vjp.operators)
            if operator + suffix in vjp.operators:
                known = inspect.signature(getattr(vjp, operator + suffix)).parameters
                assert set(attributes()) <= set(known)


# By name: the arguments, and a formula.
ALIASES = {
    "hardtanh": ({"min_val": -0.5, "max_val": 2.0}, lambda x: np.clip(x, -0.5, 2)),
    "relu6": ({}, lambda x: np.clip(x, 0, 6)),
    "selu": ({}, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    "celu": ({"alpha": 2.0}, lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "quick_gelu": ({}, lambda x: x / (1 + np.exp(-1.702 * x))),
    "swish": ({"beta": 0.5}, lambda x: x / (1 + np.exp(-0.5 * x))),
}


@pytest.mark.parametrize("name", _aliases.ALIASES)
def test_aliases_compute_what_their_names_say(name):
    keywords, formula = ALIASES[name]
    x, step = np.linspace(-7.03, 7.07, 200), 1e-6
    assert np.allclose(getattr(vjp, name)(x, **keywords), formula(x), rtol=1e-14)
    slope = (formula(x + step) - formula(x - step)) / (2 * step)
    result = getattr(vjp, name + "_backward")(x, np.full_like(x, 3), **keywords)
    assert np.allclose(result, 3 * slope, atol=1e-8)


def test_arguments_of_aliases():
    assert str(inspect.signature(vjp.hardtanh_backward)) == \
        "(src, diff_dst, *, min_val=-1.0, max_val=1.0, use_dst=False, out=None)"
    assert str(inspect.signature(vjp.relu6)) == "(src, *, out=None)"
    assert vjp.relu6.__doc__.startswith("clamp with min 0.0 and max 6.0.\n\nClamp: dst = min where")
    x = np.linspace(-8, 8, 5)
    out = np.empty_like(x)
    assert vjp.relu6_backward(x, diff_dst=x, out=out) is out
    with pytest.raises(TypeError, match="relu6.. got an unexpected keyword argument 'min'"):
        vjp.relu6(x, min=3)
    with pytest.raises(TypeError, match="hardtanh.. takes 1 positional arguments but 2 were given"):
        vjp.hardtanh(x, -1.0)
    with pytest.raises(ValueError, match="celu: alpha: is 0"):
        vjp.celu(x, alpha=0)


def test_selu_is_continuous_in_slope_and_normalizing():
    """The fixed point of mean 0 and variance 1, by which SELU's two constants are defined."""
    _, constants = _aliases.ALIASES["selu"]
    alpha, scale, _ = constants().values()
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    y = scale * np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0)))
    assert abs((y * density).sum()) < 1e-9 and abs((y * y * density).sum() - 1) < 1e-9
