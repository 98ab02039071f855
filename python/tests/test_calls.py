# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of the functions, for every operator of the table."""

import inspect
import pickle

import numpy as np
import pytest

import vjp
from support import FLOATS, OPTIONAL, ROW, TABLE, as_tuple, call, close, problem, same

every_operator = pytest.mark.parametrize("name", vjp.operators)
one_output = [name for name in vjp.operators if len(TABLE[name]["outputs"]) == 1]


# ---- signatures ----------------------------------------------------------------------------------


@every_operator
def test_signature_is_that_of_the_table(name):
    op = TABLE[name]
    parameters = inspect.signature(getattr(vjp, name)).parameters
    required = [t["name"] for t in op["inputs"] if not t["flags"] & OPTIONAL]
    assert [p for p in parameters if parameters[p].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == required
    for attr in op["attrs"]:
        parameter = parameters[attr["name"]]
        assert parameter.default == (inspect.Parameter.empty if attr["required"] else attr["default"])
    assert parameters["out"].default is None
    assert ("want" in parameters) == any(t["flags"] & OPTIONAL for t in op["outputs"])


@every_operator
def test_docstring_names_all_there_is_to_know(name):
    op = TABLE[name]
    doc = getattr(vjp, name).__doc__
    for part in (*op["inputs"], *op["attrs"], *op["outputs"]):
        assert part["name"] in doc
    assert " ".join(op["formula"].split()) in " ".join(doc.split())
    for bound in op["bounds"]:
        assert bound["text"] in " ".join(doc.split())


@every_operator
def test_function_can_be_pickled(name):
    assert pickle.loads(pickle.dumps(getattr(vjp, name))) is getattr(vjp, name)


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@every_operator
def test_result_has_the_shape_and_dtype_of_the_table(name, dtype):
    inputs, attrs = problem(name, dtype=dtype, optional=True)
    results = as_tuple(call(name, inputs, attrs))
    for result in results:
        assert type(result) is np.ndarray
    output = TABLE[name]["outputs"][0]
    if output["dtype_rule"] <= 3:  # numbers; those of a row have at least 32 bits
        is_row = output["shape_rule"] == ROW and dtype in ("f16", "bf16")
        assert results[0].dtype == (np.float32 if is_row else FLOATS[dtype])
    again = as_tuple(call(name, inputs, attrs, out=call(name, inputs, attrs)
                          if len(results) == len(TABLE[name]["outputs"]) else None))
    assert all(map(same, results, again))


@every_operator
def test_result_keeps_the_memory_order_of_the_first_input(name):
    inputs, attrs = problem(name, (3, 4, 5))
    inputs = {key: np.asfortranarray(array) for key, array in inputs.items()}
    result = as_tuple(call(name, inputs, attrs))[0]
    if result.shape == (3, 4, 5):
        assert result.flags.f_contiguous


@pytest.mark.parametrize("dtype", FLOATS)
@every_operator
def test_strides_do_not_matter(name, dtype):
    inputs, attrs = problem(name, (4, 6, 5), dtype)
    expected = as_tuple(call(name, inputs, attrs))
    for change in (np.asfortranarray, reversed_in_memory, every_other, in_a_larger_array):
        others = {key: change(array) for key, array in inputs.items()}
        for a, b in zip(as_tuple(call(name, others, attrs)), expected):
            assert close(a, b, name), change.__name__


def reversed_in_memory(array):
    every = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[every])[every]


def every_other(array):
    wide = np.zeros([n * 2 for n in array.shape], array.dtype)
    view = wide[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def in_a_larger_array(array):
    wide = np.zeros([n + 3 for n in array.shape], array.dtype)
    view = wide[tuple(slice(1, n + 1) for n in array.shape)]
    view[...] = array
    return view


@every_operator
def test_broadcast_input_gives_a_dense_result(name):
    inputs, attrs = problem(name)
    first = next(iter(inputs))
    inputs[first] = np.broadcast_to(inputs[first][:1], inputs[first].shape)
    dense = {key: array.copy() for key, array in inputs.items()}
    results = as_tuple(call(name, inputs, attrs))
    for a, b in zip(results, as_tuple(call(name, dense, attrs))):
        assert close(a, b, name)


@every_operator
def test_empty_arrays(name):
    inputs, attrs = problem(name, (0, 6))
    results = as_tuple(call(name, inputs, attrs))
    assert any(result.size == 0 for result in results)


@every_operator
def test_read_only_inputs(name):
    inputs, attrs = problem(name, optional=True)
    expected = as_tuple(call(name, inputs, attrs))
    for array in inputs.values():
        array.flags.writeable = False
    assert all(map(same, as_tuple(call(name, inputs, attrs)), expected))


def test_twelve_dims_and_none():
    ones = np.ones((1,) * 11 + (3,), np.float32)
    assert vjp.relu_backward(ones, ones).shape == ones.shape
    one = np.array(1, np.float32)
    assert vjp.relu_backward(one, one) == 1


# ---- out and want --------------------------------------------------------------------------------


@every_operator
def test_out_is_written_and_returned(name):
    inputs, attrs = problem(name)
    expected = as_tuple(call(name, inputs, attrs))
    if len(expected) < len(TABLE[name]["outputs"]):
        expected += (None,) * (len(TABLE[name]["outputs"]) - len(expected))
    out = tuple(None if array is None else np.full_like(array, 7) for array in expected)
    results = as_tuple(call(name, inputs, attrs, out=out))
    given = [array for array in out if array is not None]
    assert all(a is b for a, b in zip(results, given))
    assert all(same(a, b) for a, b in zip(out, expected) if a is not None)


@every_operator
def test_out_may_be_an_input(name):
    inputs, attrs = problem(name)
    expected = as_tuple(call(name, inputs, attrs))[0]
    for key in inputs:
        copies = {k: array.copy() for k, array in inputs.items()}
        if copies[key].shape != expected.shape or copies[key].dtype != expected.dtype:
            continue
        out = (copies[key],) + (None,) * (len(TABLE[name]["outputs"]) - 1)
        call(name, copies, attrs, out=out)
        assert same(copies[key], expected), key


def test_out_is_an_array_or_a_tuple_of_one():
    x = np.ones(3, np.float32)
    out = np.zeros_like(x)
    assert vjp.relu_backward(x, x, out=out) is out
    assert vjp.relu_backward(x, x, out=(out,)) is out


def prelu(**keywords):
    x = np.array([[1, -2], [-3, 4]], np.float32)
    return vjp.prelu_backward(x, np.array([0.5, 0.25], np.float32), np.ones_like(x), **keywords)


def test_want_chooses_outputs():
    diff_src, diff_slope = prelu()
    assert diff_slope.tolist() == [-3, -2]
    for want in ("diff_src", ("diff_src",), ["diff_src"], iter(["diff_src"])):
        assert same(prelu(want=want), diff_src)
    both = prelu(want=("diff_slope", "diff_src"))
    assert same(both[0], diff_src) and same(both[1], diff_slope)


def test_out_with_none_leaves_an_output_out():
    out = np.zeros((2, 2), np.float32)
    assert prelu(out=(out, None)) is out
    both = prelu(out=(out, None), want=("diff_src", "diff_slope"))
    assert both[0] is out and both[1].tolist() == [-3, -2]


def test_want_and_out_may_not_disagree():
    out = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="diff_slope is in out, but not in want"):
        prelu(out=(None, out), want="diff_src")
    with pytest.raises(ValueError, match="'slope' is not the name of an output"):
        prelu(want="slope")
    with pytest.raises(TypeError, match="3 is not the name of an output"):
        prelu(want=(3,))
    with pytest.raises(TypeError, match="want: expected names"):
        prelu(want=3)
    with pytest.raises(TypeError, match="expected a tuple of 2 arrays"):
        prelu(out=out)
    with pytest.raises(ValueError, match="expected 2 arrays, got 3"):
        prelu(out=(out, out, out))
    with pytest.raises(ValueError, match="diff_src"):
        prelu(want=())


def test_parameter_of_another_dtype():
    import ml_dtypes
    x = np.ones((2, 3), ml_dtypes.bfloat16)
    diff_src, diff_slope = vjp.prelu_backward(-x, np.ones(3, np.float32), x)
    assert diff_src.dtype == ml_dtypes.bfloat16 and diff_slope.dtype == np.float32
