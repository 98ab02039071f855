# SPDX-License-Identifier: Apache-2.0
"""The plain functions on JAX's arrays, which can be read only."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vjp
from support import FLOATS, as_tuple, call, problem, same


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", vjp.operators)
def test_same_bits_as_numpy(name, dtype):
    inputs, attrs = problem(name, (4, 6, 5), dtype, optional=True)
    arrays = {key: jnp.asarray(value) for key, value in inputs.items()}
    for a, b in zip(as_tuple(call(name, arrays, attrs)), as_tuple(call(name, inputs, attrs))):
        assert isinstance(a, jax.Array) and same(np.asarray(a), b)


def test_output_is_refused():
    x = jnp.ones(3)
    with pytest.raises(ValueError, match="diff_src: the array is read-only"):
        vjp.relu_backward(x, x, out=x)
    out = np.zeros(3)
    assert vjp.relu_backward(x, x, out=out) is out and out.sum() == 3


def test_traced_arrays_are_refused():
    with pytest.raises(TypeError, match="src: expected an array, got .*Tracer"):
        jax.jit(lambda x: vjp.relu_backward(x, x))(jnp.ones(3))
