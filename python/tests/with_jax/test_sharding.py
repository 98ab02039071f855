# SPDX-License-Identifier: Apache-2.0
"""vjp.jax on arrays that are sharded over two devices: automatic sharding and shard_map."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import vjp
import vjp.jax
from vjp.jax import _calls
from support import PARAM, ROW, TABLE, as_tuple, axis_of, call, close, has_axis, problem

SHAPE = (4, 6, 8)
OPERATORS = _calls.functions(TABLE.values())


def mesh_of(kind):
    return jax.make_mesh((2,), ("d",), axis_types=(getattr(AxisType, kind),))


def sharded_along(name, dim, mesh, inputs):
    """The inputs, the data's dim `dim` sharded; parameters are replicated unless they have it too."""
    placed = {}
    for info in TABLE[name]["inputs"]:
        if info["name"] not in inputs:
            continue
        array = jnp.asarray(inputs[info["name"]])
        spec = [None] * array.ndim
        if info["shape_rule"] == ROW:
            first, last = axis_of(TABLE[name], len(SHAPE))
            rest = [d for d in range(len(SHAPE)) if not first <= d <= last]
            if dim in rest:
                spec[rest.index(dim)] = "d"
        elif info["shape_rule"] != PARAM:
            spec[dim] = "d"
        placed[info["name"]] = jax.device_put(array, NamedSharding(mesh, P(*spec)))
    return placed


CASES = [(name, dim, kind) for name, dim, kind in
         itertools.product(vjp.operators, range(len(SHAPE)), ("Auto", "Explicit"))]


@pytest.mark.parametrize("name, dim, kind", CASES)
def test_any_dim_may_be_sharded(name, dim, kind):
    """Also the one that rows run along: it is gathered, not computed by pieces."""
    inputs, attrs = problem(name, SHAPE, optional=True)
    expected = as_tuple(call(name, inputs, attrs))
    mesh = mesh_of(kind)
    with jax.set_mesh(mesh):
        arrays = sharded_along(name, dim, mesh, inputs)
        function = jax.jit(lambda a: OPERATORS[name](**a, **attrs))
        for a, b in zip(as_tuple(function(arrays)), expected):
            assert close(np.asarray(a), b, name)


@pytest.mark.parametrize("name", vjp.operators)
def test_rows_are_computed_where_they_are(name):
    """Sharded along a dim that rows do not run along, nothing is gathered."""
    op = TABLE[name]
    first, last = axis_of(op, len(SHAPE))
    dim = next(d for d in range(len(SHAPE)) if not has_axis(op) or not first <= d <= last)
    inputs, attrs = problem(name, SHAPE)
    mesh = mesh_of("Auto")
    arrays = sharded_along(name, dim, mesh, inputs)
    compiled = jax.jit(lambda a: OPERATORS[name](**a, **attrs)).lower(arrays).compile()
    text = compiled.as_text()
    assert "all-gather" not in text and "all-to-all" not in text
    result = as_tuple(compiled(arrays))[0]
    assert result.sharding.spec[dim] == "d"


@pytest.mark.parametrize("axis", (0, 1, 2))
@pytest.mark.parametrize("dim", (0, 1, 2))
def test_causal_rows_end_where_they_do_in_one_piece(axis, dim):
    inputs, _ = problem("softmax", SHAPE)
    expected = vjp.softmax(**inputs, axis=axis, causal=True)
    arrays = sharded_along("softmax", dim, mesh_of("Auto"), inputs)
    result = jax.jit(lambda a: vjp.jax.softmax(**a, axis=axis, causal=True))(arrays)
    assert np.allclose(result, expected, atol=1e-6)


def test_a_sum_over_a_sharded_dim_is_added_up():
    inputs, _ = problem("prelu_backward", SHAPE)
    mesh = mesh_of("Auto")
    arrays = sharded_along("prelu_backward", 0, mesh, inputs)
    compiled = jax.jit(lambda a: vjp.jax.prelu_backward(**a)).lower(arrays).compile()
    assert "all-reduce" in compiled.as_text()
    expected = vjp.prelu_backward(**inputs)[1]
    assert np.allclose(compiled(arrays)[1], expected, rtol=1e-5)


def test_dims_that_do_not_divide():
    """7 rows on 2 devices, as XLA may choose inside a program."""
    mesh = mesh_of("Auto")
    inputs, _ = problem("prelu_backward", (7, 4))

    @jax.jit
    def f(src, slope, diff_dst):
        src = jax.lax.with_sharding_constraint(src * 1, NamedSharding(mesh, P("d")))
        diff_dst = jax.lax.with_sharding_constraint(diff_dst * 1, NamedSharding(mesh, P("d")))
        return vjp.jax.prelu_backward(src, slope, diff_dst)

    for a, b in zip(f(**inputs), vjp.prelu_backward(**inputs)):
        assert np.allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("name", ["gelu", "glu", "hard_sigmoid", "softmax"])
@pytest.mark.parametrize("spec", [P("d", None), P(None, "d")])
def test_gradients_of_sharded_arrays(name, spec):
    x = jnp.linspace(-4, 4, 48).reshape(6, 8)
    loss = lambda f, x: jnp.sin(3 * f(x)).sum()  # noqa: E731
    placed = jax.device_put(x, NamedSharding(mesh_of("Auto"), spec))
    gradient = jax.jit(jax.grad(lambda x: loss(getattr(vjp.jax, name), x)))(placed)
    assert np.allclose(gradient, jax.grad(lambda x: loss(getattr(jax.nn, name), x))(x), atol=1e-12)


def test_vmap_of_sharded_arrays():
    mesh = mesh_of("Auto")
    inputs, _ = problem("softmax_backward", SHAPE)
    placed = {k: jax.device_put(v, NamedSharding(mesh, P("d"))) for k, v in inputs.items()}
    result = jax.jit(jax.vmap(lambda a: vjp.jax.softmax_backward(**a, axis=0)))(placed)
    assert np.allclose(result, vjp.softmax_backward(**inputs, axis=1), atol=1e-5)


# ---- shard_map -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "sigmoid", "softmax"])
def test_gradients_inside_shard_map(name):
    mesh = mesh_of("Auto")
    x = jnp.linspace(-3, 3, 48).reshape(6, 8)
    loss = lambda f, x: (f(x) * jnp.cos(jnp.arange(8.0))).sum()  # noqa: E731
    inside = jax.shard_map(jax.grad(lambda x: loss(getattr(vjp.jax, name), x)), mesh=mesh,
                           in_specs=P("d", None), out_specs=P("d", None))
    expected = jax.grad(lambda x: loss(getattr(jax.nn, name), x))(x)
    assert np.allclose(jax.jit(inside)(x), expected, atol=1e-12)


def test_parameters_inside_shard_map_are_summed_by_the_caller():
    """The slope is the same everywhere, its gradient is not: psum adds it up."""
    mesh = mesh_of("Auto")
    inputs, _ = problem("prelu_backward", (6, 8))

    def local(src, slope, diff_dst):
        diff_src, diff_slope = vjp.jax.prelu_backward(src, slope, diff_dst)
        return diff_src, jax.lax.psum(diff_slope, "d")

    run = jax.shard_map(local, mesh=mesh, in_specs=(P("d"), P(), P("d")), out_specs=(P("d"), P()))
    for a, b in zip(jax.jit(run)(*inputs.values()), vjp.prelu_backward(**inputs)):
        assert np.allclose(a, b, rtol=1e-5)
