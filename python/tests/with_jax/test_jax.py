# SPDX-License-Identifier: Apache-2.0
"""vjp.jax: every operator eagerly, under jit and vmap; gradients; aliasing; errors; threads."""

import functools
import inspect
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vjp
import vjp.jax
from support import FLOATS, OPTIONAL, TABLE, as_tuple, call, close, problem, same
from vjp.jax import _calls, _nn

OPERATORS = _calls.functions(TABLE.values())  # without what jax.nn has other parameters for
every_operator = pytest.mark.parametrize("name", vjp.operators)


def in_jax(name, inputs, attrs, transform=lambda f: f, **keywords):
    function = OPERATORS[name]
    run = transform(lambda arrays: function(**arrays, **attrs, **keywords))
    return as_tuple(run({key: jnp.asarray(value) for key, value in inputs.items()}))


def plain(name, inputs, attrs, **keywords):
    return as_tuple(call(name, inputs, attrs, **keywords))


# ---- every operator ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@every_operator
def test_same_results_as_the_plain_functions(name, dtype):
    inputs, attrs = problem(name, (4, 6, 5), dtype, optional=True)
    expected = plain(name, inputs, attrs)
    for transform in (lambda f: f, jax.jit):
        results = in_jax(name, inputs, attrs, transform)
        assert len(results) == len(expected)
        for a, b in zip(results, expected):
            assert close(np.asarray(a), b, name) and a.dtype == b.dtype and a.shape == b.shape


@every_operator
def test_shapes_are_known_without_running(name):
    inputs, attrs = problem(name, (3, 4), optional=True)
    outputs = [t["name"] for t in TABLE[name]["outputs"]]
    for want in [None, *([outputs] if any(t["flags"] & OPTIONAL for t in TABLE[name]["outputs"]) else [])]:
        keywords = {} if want is None else {"want": want}
        expected = plain(name, inputs, attrs, **keywords)
        types = as_tuple(jax.eval_shape(lambda i: OPERATORS[name](**i, **attrs, **keywords), inputs))
        assert [t.shape for t in types] == [a.shape for a in expected]


@every_operator
def test_optional_inputs_may_be_left_out(name):
    inputs, attrs = problem(name, (4, 6))
    for a, b in zip(in_jax(name, inputs, attrs, jax.jit), plain(name, inputs, attrs)):
        assert close(np.asarray(a), b, name)


@every_operator
def test_vmap_over_all_inputs(name):
    problems = [problem(name, (4, 6, 5), optional=True)[0] for _ in range(3)]
    for k, inputs in enumerate(problems):
        for key, value in inputs.items():
            inputs[key] = np.roll(value, k)
    attrs = problem(name)[1]
    stacked = {key: np.stack([p[key] for p in problems]) for key in problems[0]}
    results = in_jax(name, stacked, attrs, jax.vmap)
    for k, inputs in enumerate(problems):
        for a, b in zip(results, plain(name, inputs, attrs)):
            assert a[k].shape == b.shape and close(np.asarray(a[k]), b, name)


@every_operator
def test_vmap_over_one_input_and_in_two_levels(name):
    inputs, attrs = problem(name, (4, 6, 5), optional=True)
    expected = plain(name, inputs, attrs)
    first = next(iter(inputs))
    many = {**inputs, first: np.stack([[inputs[first]] * 2] * 3)}
    axes = ({key: 0 if key == first else None for key in inputs},)
    results = in_jax(name, many, attrs, lambda f: jax.jit(jax.vmap(jax.vmap(f, axes), axes)))
    for a, b in zip(results, expected):
        assert a.shape == (3, 2, *b.shape) and close(np.asarray(a[2, 1]), b, name)


@every_operator
def test_signature_has_no_out(name):
    parameters = inspect.signature(OPERATORS[name]).parameters
    plain_parameters = inspect.signature(getattr(vjp, name)).parameters
    assert list(parameters) == [p for p in plain_parameters if p != "out"]
    assert "\nout :" not in OPERATORS[name].__doc__


def test_channels_first_under_vmap():
    """The channels are dim 1 of what the function sees, not of the batch."""
    rng = np.random.default_rng(0)
    src, diff_dst = rng.normal(size=(2, 3, 2, 4, 5)).astype(np.float32)
    slope = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    f = lambda s, d: vjp.jax.prelu_backward(s, slope, d, data_format="NCX")  # noqa: E731
    diff_src, diff_slope = jax.vmap(f)(src, diff_dst)
    assert diff_slope.shape == (3, 4)
    for k in range(3):
        expected = vjp.prelu_backward(src[k], slope, diff_dst[k], data_format="NCX")
        assert same(np.asarray(diff_src[k]), expected[0])
        assert np.allclose(diff_slope[k], expected[1], rtol=1e-5)


# ---- gradients -----------------------------------------------------------------------------------

def rms_norm(x):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def layer_norm(x):
    return rms_norm(x - x.mean(-1, keepdims=True))


# What jax.nn has, and formulas for what it has not; with the arguments of the calls to compare.
NN = {"celu": [{}, {"alpha": 0.5}], "elu": [{}, {"alpha": 0.5}], "gelu": [{}, {"approximate": False}],
      "glu": [{}, {"axis": 0}], "leaky_relu": [{}, {"negative_slope": 0.2}],
      "log_softmax": [{}, {"axis": 0}, {"where": np.arange(8) % 3 > 0}],
      "softmax": [{}, {"axis": 0}, {"where": np.arange(8) % 3 > 0}]}
NN |= {name: [{}] for name in ("hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "log_sigmoid",
                               "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign",
                               "softplus", "swish", "tanh")}
FORMULAS = {
    "abs": jnp.abs, "exp": jnp.exp, "square": jnp.square, "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "hard_shrink": lambda x: jnp.where(jnp.abs(x) > 0.5, x, 0),
    "soft_shrink": lambda x: x - jnp.clip(x, -0.5, 0.5),
    "quick_gelu": lambda x: x * jax.nn.sigmoid(1.702 * x),
    "reciprocal": lambda x: 1 / x,
    "relu_squared": lambda x: jax.nn.relu(x) ** 2,
    "softsign": jax.nn.soft_sign,
    "tanh_shrink": lambda x: x - jnp.tanh(x),
}
CASES = [(name, keywords, functools.partial(getattr(jax.nn, name), **keywords))
         for name, all_keywords in NN.items() for keywords in all_keywords]
CASES += [(name, {}, formula) for name, formula in FORMULAS.items()]
X = jnp.linspace(-4, 4, 49)[:48].reshape(6, 8) + 0.013  # not where a slope jumps


@pytest.mark.parametrize("name, keywords, reference", CASES,
                         ids=[f"{name}-{'-'.join(keywords)}" for name, keywords, _ in CASES])
def test_gradients_are_those_of_jax_nn(name, keywords, reference):
    function = functools.partial(getattr(vjp.jax, name), **keywords)
    expected, pullback = jax.vjp(reference, X)
    assert np.allclose(function(X), expected, rtol=1e-11, atol=1e-12)
    weights = jnp.cos(jnp.arange(expected.size)).reshape(expected.shape)
    gradient = jax.jit(jax.grad(lambda x: (function(x) * weights).sum()))(X)
    assert np.allclose(gradient, pullback(weights)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NN)
def test_parameters_are_those_of_jax_nn(name):
    """Also by position, with the same defaults; the first is called src here."""
    ours = list(inspect.signature(getattr(vjp.jax, name)).parameters.values())[1:]
    own = list(inspect.signature(getattr(jax.nn, name)).parameters.values())[1:]
    for a, b in zip(ours, own):
        assert (a.name, a.default) == (b.name, b.default) and a.kind is a.POSITIONAL_OR_KEYWORD
    assert len(ours) >= len(own) and all(p.default is not p.empty for p in ours)


GATED = {"reglu": jax.nn.relu, "geglu": functools.partial(jax.nn.gelu, approximate=False),
         "swiglu": jax.nn.silu}


@pytest.mark.parametrize("name", GATED)
def test_gradients_of_gated_units(name):
    up = jnp.sin(X)
    function, reference = getattr(vjp.jax, name), lambda gate, up: GATED[name](gate) * up
    for argument in (0, 1):
        gradients = [jax.grad(lambda *a: (f(*a) ** 2).sum(), argument)(X, up) for f in (function, reference)]
        assert np.allclose(*gradients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weighted", (False, True))
def test_gradient_of_cross_entropy(weighted):
    label = jnp.array([0, 7, -100, 3, 3, 1])
    weight = jnp.linspace(0.5, 2, 8) if weighted else None

    def reference(x):
        share = jnp.ones(8) if weight is None else weight
        loss = -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.maximum(label, 0)[:, None], 1)[:, 0]
        return jnp.where(label == -100, 0, loss * share[jnp.maximum(label, 0)])

    function = lambda x: vjp.jax.cross_entropy(x, label, weight=weight)  # noqa: E731
    assert np.allclose(function(X), reference(X))
    gradients = [jax.grad(lambda x: (f(x) ** 2).sum())(X) for f in (function, reference)]
    assert np.allclose(*gradients, atol=1e-12)
    if weighted:
        with pytest.raises(TypeError, match="cross_entropy has no gradient with respect to weight"):
            jax.grad(lambda w: vjp.jax.cross_entropy(X, label, weight=w).sum())(weight)


def test_gradients_of_rms_norm():
    gamma = jnp.linspace(0.5, 2, 8)
    for keywords in ({}, {"offset": 1.0, "epsilon": 0.1}):
        function = functools.partial(vjp.jax.rms_norm, **keywords)
        offset, epsilon = keywords.get("offset", 0), keywords.get("epsilon", 1e-5)

        def reference(x, gamma):
            return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * (gamma + offset)

        gradients = [jax.grad(lambda x, gamma: (f(x, gamma=gamma) ** 3).sum(), (0, 1))(X, gamma)
                     for f in (function, reference)]
        assert all(np.allclose(a, b, rtol=1e-9, atol=1e-10) for a, b in zip(*gradients))


def test_gradients_of_layer_norm():
    gamma, beta = jnp.linspace(0.5, 2, 8), jnp.linspace(1, -1, 8)
    functions = (lambda x, g, b: vjp.jax.layer_norm(x, gamma=g, beta=b),
                 lambda x, g, b: layer_norm(x) * g + b)
    gradients = [jax.grad(lambda *a: (f(*a) ** 3).sum(), (0, 1, 2))(X, gamma, beta) for f in functions]
    assert all(np.allclose(a, b, rtol=1e-9, atol=1e-10) for a, b in zip(*gradients))
    half = X.astype(jnp.bfloat16), gamma.astype(jnp.float32), beta.astype(jnp.float32)
    gradients = jax.grad(lambda *a: functions[0](*a).astype(jnp.float32).sum(), (0, 1, 2))(*half)
    assert [g.dtype for g in gradients] == [jnp.bfloat16, jnp.float32, jnp.float32]


def test_gradients_of_add_rms_norm():
    """Of both terms, by way of the normalized sum, the sum itself, or both."""
    gamma, other = jnp.linspace(0.5, 2, 8), jnp.cos(X)
    functions = (lambda a, b, g: vjp.jax.add_rms_norm(a, b, gamma=g),
                 lambda a, b, g: (rms_norm(a + b) * g, a + b))
    for loss in (lambda dst, sum: (dst ** 3).sum(), lambda dst, sum: (sum ** 2).sum(),
                 lambda dst, sum: (dst ** 3 * sum).sum()):
        gradients = [jax.grad(lambda *a: loss(*f(*a)), (0, 1, 2))(X, other, gamma) for f in functions]
        assert all(np.allclose(a, b, rtol=1e-9, atol=1e-10) for a, b in zip(*gradients))


def test_want_returns_optional_outputs_too():
    """In the order of the table; they are constants to a gradient."""
    for run in (lambda f: f, jax.jit):
        dst, stats = run(lambda x: vjp.jax.softmax(x, want=["stats", "dst"]))(X)
        assert np.allclose(dst, jax.nn.softmax(X)) and np.allclose(stats, jax.nn.logsumexp(X, -1))
        dst, rstd = run(lambda x: vjp.jax.rms_norm(x, want=("dst", "rstd")))(X)
        assert np.allclose(dst, X * rstd[:, None])
    weighted = lambda x, want: vjp.jax.softmax(x, want=want) * X  # noqa: E731
    expected = jax.grad(lambda x: (vjp.jax.softmax(x) * X).sum())(X)

    def loss(x):
        dst, stats = vjp.jax.softmax(x, want=("dst", "stats"))
        return (dst * X).sum() + stats.sum()

    assert same(np.asarray(jax.grad(loss)(X)), np.asarray(expected))
    assert same(np.asarray(jax.grad(lambda x: weighted(x, "dst").sum())(X)), np.asarray(expected))
    with pytest.raises(ValueError, match="softmax: want: 'stat' is not the name of an output"):
        vjp.jax.softmax(X, want="stat")
    with pytest.raises(ValueError, match="softmax: want: dst cannot be left out"):
        vjp.jax.softmax(X, want="stats")
    assert "want" in inspect.signature(vjp.jax.cross_entropy).parameters
    assert "want" not in inspect.signature(vjp.jax.relu).parameters


def test_gradients_where_attributes_of_the_forward_matter():
    x = -jnp.ones((2, 3, 3))
    slope = jnp.array([1.0, 2.0, 3.0])
    prelu = lambda s: vjp.jax.prelu(x, s, data_format="NCX", per_channel_broadcast=False)  # noqa: E731
    assert same(np.asarray(prelu(slope)), np.asarray(x * slope))
    gradient = jax.grad(lambda s: (prelu(s) * jnp.arange(3)).sum())(slope)
    assert np.array_equal(gradient, jax.grad(lambda s: (x * s * jnp.arange(3)).sum())(slope))
    scaled = (lambda x: vjp.jax.softmax(x, scale=2.0), lambda x: jax.nn.softmax(2 * x))
    assert np.allclose(*(jax.grad(lambda x: (f(x) * X).sum())(X) for f in scaled), atol=1e-12)
    causal = lambda x: vjp.jax.softmax(x, causal=True)  # noqa: E731
    mask = np.tri(6, 8, 2, dtype=bool)
    masked = lambda x: jax.nn.softmax(jnp.where(mask, x, -jnp.inf))  # noqa: E731
    assert np.allclose(*(jax.grad(lambda x: (f(x) * X).sum())(X) for f in (causal, masked)), atol=1e-12)


def test_a_causal_row_alone_is_the_last_one_under_vmap():
    function = lambda row: vjp.jax.softmax(row, causal=True)  # noqa: E731
    assert np.allclose(jax.vmap(function)(X), jax.nn.softmax(X), atol=1e-12)


@every_operator
def test_derivatives_of_operators_are_refused(name):
    """Forward mode and, for those without a gradient, reverse mode too."""
    inputs, attrs = problem(name, dtype="f64")
    first = next(iter(inputs))
    function = lambda x: as_tuple(OPERATORS[name](**{**inputs, first: x}, **attrs))[0].sum()  # noqa: E731
    for derivative in (jax.grad, jax.jacfwd):
        with pytest.raises(NotImplementedError, match=f"{name}: vjp has no derivative of this operator"):
            derivative(function)(jnp.asarray(inputs[first]))


def test_parameters_of_jax_nn():
    parameters = inspect.signature(vjp.jax.softmax).parameters
    assert list(parameters)[:1] == ["src"] and parameters["axis"].default == -1
    x = jnp.ones((2, 3))
    assert np.allclose(jax.jacobian(lambda x: vjp.jax.softmax(x, 0))(x), jax.jacobian(lambda x: jax.nn.softmax(x, 0))(x))
    with pytest.raises(ValueError, match="axis.* 2 is out of"):
        jax.grad(lambda x: vjp.jax.softmax(x, axis=2).sum())(x)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_gradients_of_other_dtypes(dtype):
    x = jnp.linspace(-2, 2, 12, dtype=dtype).reshape(3, 4)
    gradient = jax.grad(lambda x: vjp.jax.sigmoid(x).sum().astype(jnp.float32))(x)
    assert gradient.dtype == dtype
    assert same(np.asarray(gradient), vjp.sigmoid_backward(np.asarray(x), np.ones((3, 4), x.dtype)))


FORWARD = {"name": "scaled", "title": "Scaled", "formula": "dst = src * weight", "bounds": [],
           "attrs": [{"name": "power", "type": 2, "role": 4, "required": False, "default": 1,
                      "choices": None, "meaning": "", }],
           "inputs": [{"name": "src", "dtype_rule": 1, "shape_rule": 1, "flags": 0},
                      {"name": "weight", "dtype_rule": 1, "shape_rule": 2, "flags": 0},
                      {"name": "gain", "dtype_rule": 1, "shape_rule": 2, "flags": 1},
                      {"name": "label", "dtype_rule": 5, "shape_rule": 3, "flags": 1}],
           "outputs": [{"name": "dst", "dtype_rule": 1, "shape_rule": 1, "flags": 0},
                       {"name": "stats", "dtype_rule": 4, "shape_rule": 1, "flags": 1}]}
BACKWARD = {**FORWARD, "name": "scaled_backward",
            "inputs": [*FORWARD["inputs"][:2], FORWARD["outputs"][1],
                       {"name": "diff_dst", "dtype_rule": 1, "shape_rule": 1, "flags": 0}],
            "outputs": [{"name": "diff_src", "dtype_rule": 1, "shape_rule": 1, "flags": 0},
                        {"name": "diff_weight", "dtype_rule": 1, "shape_rule": 2, "flags": 3}]}


def test_operators_to_come_are_paired_by_name(monkeypatch):
    """What the forward leaves for the backward is passed on; the kernels are stood in for."""
    seen = []

    def stand_in(op, tensors, settings, want=None):
        seen.append((op["name"], sorted(tensors), dict(settings), want))
        if op["name"] == "scaled":
            results = {"dst": tensors["src"] * tensors["weight"], "stats": tensors["src"] + 1}
        else:
            assert np.allclose(tensors["stats"], tensors["src"] + 1)
            results = {"diff_src": tensors["diff_dst"] * tensors["weight"],
                       "diff_weight": (tensors["diff_dst"] * tensors["src"]).sum(0)}
        results = tuple(results[name] for name in want)
        return results[0] if len(results) == 1 else results

    monkeypatch.setattr(_calls, "call", stand_in)
    function = _nn.functions([FORWARD, BACKWARD])["scaled"]
    x, w = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, 2.0, 3.0])
    label = jnp.array([0, 1])
    loss = lambda x, w: (function(x, w, label=label, power=3) ** 2).sum()  # noqa: E731
    gradients = jax.grad(loss, (0, 1))(x, w)
    expected = jax.grad(lambda x, w: ((x * w) ** 2).sum(), (0, 1))(x, w)
    assert all(np.allclose(a, b) for a, b in zip(gradients, expected))
    assert seen[0] == ("scaled", ["label", "src", "weight"], {"power": 3}, ["dst", "stats"])
    assert seen[1][1:] == (["diff_dst", "src", "stats", "weight"], {"power": 3}, ["diff_src", "diff_weight"])
    assert np.allclose(function(x, w), x * w)
    with pytest.raises(TypeError, match="scaled has no gradient with respect to gain"):
        jax.grad(lambda g: function(x, w, gain=g).sum())(w)


def test_example_runs():
    example = Path(__file__).parents[3] / "examples/python/jax_softmax.py"
    subprocess.run([sys.executable, str(example)], check=True)


def test_the_gradient_of_the_docs():
    example = Path(__file__).parents[3] / "examples/gradient/sigmoid_jax.py"
    run = subprocess.run([sys.executable, str(example)], check=True, capture_output=True, text=True)
    assert run.stdout == "1.96612 5 3.14981\n"


# ---- memory, threads, errors ---------------------------------------------------------------------


def test_a_gradient_still_in_use_is_not_overwritten():
    x = jnp.linspace(-1, 1, 64, dtype=jnp.float32)

    @jax.jit
    def f(x, g):
        h = g * 2
        return vjp.jax.relu_backward(x, h), h

    result, h = f(x, jnp.ones_like(x))
    assert np.array_equal(h, np.full(64, 2)) and np.array_equal(result, np.where(x > 0, 2, 0))
    g = jnp.ones_like(x)
    vjp.jax.relu_backward(x, g)
    assert np.array_equal(g, np.ones(64))


def test_a_dying_gradient_is_overwritten():
    x = jnp.linspace(-1, 1, 64, dtype=jnp.float32)
    compiled = jax.jit(lambda x, g: vjp.jax.relu_backward(x, g * 2)).lower(x, x).compile()
    assert "output_to_operand_aliasing" in compiled.as_text()


def test_large_arrays_on_xla_s_threads_have_the_same_bits():
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 512, 2048)).astype(np.float32)
    for name, inputs in (("sigmoid_backward", {"src": x, "diff_dst": g}),
                         ("softmax_backward", {"diff_dst": g, "dst": x})):
        for _ in range(20):
            assert same(np.asarray(in_jax(name, inputs, {}, jax.jit)[0]), plain(name, inputs, {})[0])


def test_refusals():
    x = jnp.ones((2, 3), jnp.float32)
    with pytest.raises(ValueError, match=r"diff_dst: the shape is \(3,\), src has \(2, 3\)"):
        vjp.jax.relu_backward(x, x[0])
    with pytest.raises(ValueError, match="softmax_backward: attribute axis: 5 is out of range"):
        vjp.jax.softmax_backward(x, x, axis=5)
    with pytest.raises(ValueError, match=r"slope: the shape \(7,\) does not broadcast"):
        vjp.jax.prelu_backward(x, jnp.ones(7), x)
    with pytest.raises(ValueError, match="'slope' is not the name of an output"):
        vjp.jax.prelu_backward(x, x[0], x, want="slope")
    with pytest.raises(TypeError, match="alpha"):
        vjp.jax.hard_sigmoid_backward(x, x, alpha="1", beta=1)
    with pytest.raises(TypeError, match="missing a required"):
        vjp.jax.hard_sigmoid_backward(x, x, alpha=1)
    with pytest.raises(Exception, match="relu_backward: diff_dst: dtype is f64, src has f32"):
        vjp.jax.relu_backward(x, x.astype(jnp.float64)).block_until_ready()
    with pytest.raises(Exception, match="NCHW"):
        vjp.jax.prelu_backward(x, x[0], x, data_format="NCHW")[0].block_until_ready()
