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


def clamp_backward(src, diff_dst, *, min, max, out=None):
    """Returns what it is given."""
    return src, diff_dst, min, max, out


def elu(src, *, alpha=1.0, scale=1.0, input_scale=1.0, out=None):
    return alpha, scale, input_scale


def test_aliases_of_operators_to_come():
    made = _aliases.aliases({"clamp_backward": clamp_backward, "elu": elu})
    assert sorted(made) == ["celu", "hardtanh_backward", "relu6_backward", "selu"]
    assert made["relu6_backward"](1, diff_dst=2) == (1, 2, 0.0, 6.0, None)
    assert made["hardtanh_backward"](1, 2, max_val=3.0, out=4) == (1, 2, -1.0, 3.0, 4)
    assert made["celu"](0, alpha=4.0) == (4.0, 1.0, 0.25)
    assert str(inspect.signature(made["hardtanh_backward"])) == \
        "(src, diff_dst, *, min_val=-1.0, max_val=1.0, out=None)"
    assert str(inspect.signature(made["relu6_backward"])) == "(src, diff_dst, *, out=None)"
    with pytest.raises(TypeError, match="relu6_backward.. got an unexpected keyword argument 'min'"):
        made["relu6_backward"](1, 2, min=3)


def test_selu_is_continuous_in_slope_and_normalizing():
    """The fixed point of mean 0 and variance 1, by which SELU's two constants are defined."""
    _, constants = _aliases.ALIASES["selu"]
    alpha, scale, _ = constants().values()
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    y = scale * np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0)))
    assert abs((y * density).sum()) < 1e-9 and abs((y * y * density).sum() - 1) < 1e-9
