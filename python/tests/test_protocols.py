# SPDX-License-Identifier: Apache-2.0
"""Arrays of libraries other than NumPy, through DLPack."""

import sys
import types

import ml_dtypes
import numpy as np
import pytest

import standin
import vjp
from standin import CUDA, READ_ONLY, StandIn
from support import same

x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
g = np.linspace(1, 3, 24, dtype=np.float32).reshape(4, 6)
expected = vjp.sigmoid_backward(x, g)


@pytest.mark.parametrize("settings", [{}, {"version": None}, {"version": (1, 9)}, {"dense": True},
                                      {"offset": 64}, {"flags": READ_ONLY},
                                      {"version": None, "accepts_versions": False}])
def test_capsules_of_every_kind(settings):
    out = np.zeros_like(x)
    vjp.sigmoid_backward(StandIn(x, **settings), StandIn(g, **settings), out=out)
    assert same(out, expected)
    assert standin.alive == 0


def test_output_through_dlpack():
    out = StandIn(np.zeros_like(x))
    assert vjp.sigmoid_backward(x, g, out=out) is out
    assert same(out.array, expected)
    with pytest.raises(ValueError, match="diff_src: the array is read-only"):
        vjp.sigmoid_backward(x, g, out=StandIn(x, flags=READ_ONLY))
    assert standin.alive == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_other_dtypes(dtype):
    a, b, out = x.astype(dtype), g.astype(dtype), np.zeros(x.shape, dtype)
    vjp.sigmoid_backward(StandIn(a), StandIn(b), out=StandIn(out))
    assert same(out, vjp.sigmoid_backward(a, b))


def test_strides_through_dlpack():
    a, b = x[::-1, ::2], np.asfortranarray(g)[::-1, ::2]
    out = np.zeros((3, 4), np.float32).T
    vjp.sigmoid_backward(StandIn(a), StandIn(b), out=StandIn(out))
    assert same(out, np.ascontiguousarray(expected[::-1, ::2]))


def test_what_dlpack_may_send_and_vjp_not_take():
    def refused(error, match, array):
        with pytest.raises(error, match=match):
            vjp.sigmoid_backward(array, g, out=np.zeros_like(x))
        assert standin.alive == 0

    refused(TypeError, "src: DLPack version 2, expected 1", StandIn(x, version=(2, 0)))
    refused(TypeError, "src: dtype int8 is not", StandIn(x.astype(np.int8)))
    refused(TypeError, "src: dtype", StandIn(x, lanes=4))
    refused(ValueError, "src: ndim is 13", StandIn(x.reshape((1,) * 11 + (4, 6))))
    refused(ValueError, "src: is on DLPack device 8:0, which is not supported", StandIn(x, device=(8, 0)))
    refused(ValueError, "diff_dst: is on the CPU, src is on cuda:1", StandIn(x, device=(CUDA, 1)))


def test_no_way_to_make_an_output():
    with pytest.raises(TypeError, match="cannot make an array like .*StandIn.*; pass out"):
        vjp.sigmoid_backward(StandIn(x), StandIn(g))
    assert standin.alive == 0


class Standard(StandIn):
    """An array by the Python array API standard."""

    device_name = "somewhere"

    def __array_namespace__(self):
        return types.SimpleNamespace(
            empty_like=lambda a: Standard(np.empty_like(a.array)),
            empty=lambda shape, dtype, device: Standard(np.empty(shape, dtype)),
            float32="float32", float64="float64")


def test_array_api_standard():
    result = vjp.sigmoid_backward(Standard(x), Standard(g))
    assert type(result) is Standard and same(result.array, expected)


def cupy_like(array, **settings):
    """An array whose type is of a package named cupy."""
    kind = type("ndarray", (StandIn,), {"__module__": "cupy"})
    return kind(array, **settings)


@pytest.fixture
def cupy(monkeypatch):
    stream = types.SimpleNamespace(ptr=0x1234)
    module = types.ModuleType("cupy")
    module.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)
    module.empty_like = lambda a: cupy_like(np.empty_like(a.array), device=a.device)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return stream


def test_cupy_gets_its_current_stream(cupy):
    """The stream goes to __dlpack__, which orders the array's work before ours; no GPU here."""
    for pointer, sent in ((0x1234, 0x1234), (0, 1)):
        cupy.ptr = pointer
        a, b = cupy_like(x, device=(CUDA, 63)), cupy_like(g, device=(CUDA, 63))
        with pytest.raises(RuntimeError):
            vjp.sigmoid_backward(a, b)
        assert a.streams == [sent] and b.streams == [sent]
    assert standin.alive == 0


def test_unknown_library_on_cuda_gets_the_default_stream():
    a, b, out = (StandIn(array, device=(CUDA, 63)) for array in (x, g, np.zeros_like(x)))
    with pytest.raises(RuntimeError):
        vjp.sigmoid_backward(a, b, out=out)
    assert a.streams == b.streams == out.streams == [1]


def test_pinned_memory_is_memory_of_the_cpu():
    out = np.zeros_like(x)
    vjp.sigmoid_backward(StandIn(x, device=(3, 0)), g, out=out)
    assert same(out, expected)


def test_numpy_subclasses_give_plain_arrays():
    class Mine(np.ndarray):
        pass

    result = vjp.sigmoid_backward(x.view(Mine), g)
    assert type(result) is np.ndarray and same(result, expected)


def test_more_types_than_are_remembered():
    for index in range(100):
        kind = type(f"Type{index}", (StandIn,), {})
        out = np.zeros_like(x)
        vjp.sigmoid_backward(kind(x), kind(g), out=out)
        assert same(out, expected)
