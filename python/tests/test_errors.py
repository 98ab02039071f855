# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments are refused with a one-line reason, and nothing is written."""

import numpy as np
import pytest

import vjp
from support import TABLE, call, problem

x = np.ones((2, 3), np.float32)
g = np.ones((2, 3), np.float32)


def refused(error, match, function, *args, **keywords):
    with pytest.raises(error, match=match):
        function(*args, **keywords)


def test_counts_and_names_of_arguments():
    f = vjp.relu_backward
    refused(TypeError, r"relu_backward\(\) missing required argument: 'src'", f)
    refused(TypeError, "missing required argument: 'diff_dst'", f, x)
    refused(TypeError, "missing required argument: 'src'", f, diff_dst=g)
    refused(TypeError, "takes 2 positional arguments but 3 were given", f, x, g, True)
    refused(TypeError, "unexpected keyword argument 'axis'", f, x, g, axis=1)
    refused(TypeError, "multiple values for argument 'src'", f, x, g, src=x)
    refused(TypeError, "missing required argument: 'alpha'", vjp.hard_sigmoid_backward, x, g, beta=1)
    refused(TypeError, "unexpected keyword argument 'ä\0'", f, x, g, **{"ä\0": 1})


def test_what_is_not_an_array():
    f = vjp.relu_backward
    for wrong in (None, 3, 1.5, "x", [1.0, 2.0], object(), f, type, np.ndarray):
        refused(TypeError, "src: expected an array", f, wrong, g)
        refused(TypeError, "diff_dst: expected an array", f, x, wrong)
        if wrong is not None:
            refused(TypeError, "diff_src: expected an array", f, x, g, out=wrong)


def test_dtypes():
    f = vjp.relu_backward
    for dtype in (np.int8, np.uint16, np.complex64, np.longdouble, np.object_, "U3", "M8[s]",
                  [("a", "f4")], "V2", ">f4"):
        refused(TypeError, "src: dtype .* is not one of", f, np.zeros((2, 3), dtype), g)
    refused(TypeError, "src: dtype is s32, not f64", f, np.zeros((2, 3), np.int32), g)
    refused(TypeError, "diff_dst: dtype is f64, src has f32", f, x, g.astype(np.float64))
    refused(TypeError, "diff_src: dtype bool is not one of", f, x, g, out=np.zeros((2, 3), bool))


def test_shapes_and_layouts():
    f = vjp.relu_backward
    refused(ValueError, "diff_dst: dim 1 is 2, src has 3", f, x, g[:, :2])
    refused(ValueError, "diff_dst: ndim is 1, src has 2", f, x, g[0])
    refused(ValueError, "diff_src: dim 0 is 3", f, x, g, out=np.zeros((3, 3), np.float32))
    refused(ValueError, "src: ndim is 13, not 0 to 12", f, np.ones((1,) * 13, np.float32), g)
    refused(ValueError, "diff_src: the array is read-only", f, x, g,
            out=np.broadcast_to(np.float32(1), (2, 3)))
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (2, 3), (0, 4))
    refused(ValueError, "diff_src: stride 0 on dim 0", f, x, g, out=overlapping)
    memory = np.ones(7, np.float32)
    refused(ValueError, "overlap", f, memory[1:], memory[1:].copy(), out=memory[:-1])
    packed = np.zeros(3, np.dtype([("a", "f4"), ("b", "i1")]))["a"]
    refused(ValueError, "stride of 5 bytes", f, packed, packed)
    unaligned = np.frombuffer(bytes(13), np.float32, 3, 1)
    refused(ValueError, "align", f, unaligned, unaligned)


def test_attributes():
    f = vjp.hard_sigmoid_backward
    s = vjp.softmax_backward
    for wrong in (None, "1", [1], x, 1j):
        refused(TypeError, "alpha: expected float", f, x, g, alpha=wrong, beta=0.5)
    refused(ValueError, "does not fit", f, x, g, alpha=10**400, beta=0.5)
    for wrong in (None, 1.0, "1", [1]):
        refused(TypeError, "axis: expected int", s, g, x, axis=wrong)
    refused(ValueError, "axis: 5 is out of range, diff_dst has 2 dims", s, g, x, axis=5)
    refused(ValueError, "axis: .* does not fit in 64 bits", s, g, x, axis=2**63)
    for wrong in (None, 1.0, "yes"):
        refused(TypeError, "use_dst: expected bool", vjp.relu_backward, x, g, use_dst=wrong)
    refused(ValueError, "use_dst", vjp.relu_backward, x, g, use_dst=2)
    for wrong in ("nchw", "NCX\0", "\ud800", ""):
        refused(ValueError, "data_format", vjp.prelu_backward, x, x[0], g, data_format=wrong)
    refused(TypeError, "data_format: expected str", vjp.prelu_backward, x, x[0], g, data_format=1)
    assert vjp.hard_sigmoid_backward(x, g, alpha=np.float32(0.25), beta=0)[0, 0] == 0.25
    assert vjp.softmax_backward(g, x, axis=np.int8(-1)).shape == (2, 3)
    assert vjp.relu_backward(x, g, use_dst=1)[0, 0] == 1


@pytest.mark.parametrize("name", vjp.operators)
def test_nothing_is_written_when_a_call_is_refused(name):
    inputs, attrs = problem(name)
    out = np.full((9, 9), 7, np.float32)
    with pytest.raises((TypeError, ValueError)):
        call(name, inputs, attrs, out=(out,) + (None,) * (len(TABLE[name]["outputs"]) - 1))
    assert (out == 7).all()


def test_exceptions_of_arrays_come_through():
    class Broken:
        def __dlpack__(self, **keywords):
            raise KeyError("mine")

        def __dlpack_device__(self):
            return 1, 0

    class NoDevice(Broken):
        def __dlpack_device__(self):
            return "cpu"

    class Refusing(Broken):
        def __dlpack__(self, **keywords):
            raise BufferError("not today")

    class Wrong(Broken):
        def __dlpack__(self, **keywords):
            return 3

    refused(KeyError, "mine", vjp.relu_backward, Broken(), g)
    refused(TypeError, "__dlpack_device__ did not return a tuple", vjp.relu_backward, NoDevice(), g)
    refused(ValueError, "relu_backward: diff_dst: not today", vjp.relu_backward, x, Refusing())
    refused(TypeError, "did not return a DLPack capsule", vjp.relu_backward, x, Wrong())
