# SPDX-License-Identifier: Apache-2.0
"""What vjp._core must know of the array libraries: how to make an array, and which stream is theirs.

No array library is imported here before one of its arrays is seen.
"""

_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "s32": "int32", "s64": "int64",
          "u8": "uint8", "bf16": "bfloat16"}


def of(kind):
    """(is NumPy's, empty_like(x), empty(x, shape, dtype), finish(x, made), stream(device id)).

    An array that was made is handed to the caller as finish(x, made) says. None: not needed, or not
    known.
    """
    for base in kind.__mro__:
        make = _LIBRARIES.get(base.__module__.partition(".")[0])
        if make:
            return make(kind)
    if hasattr(kind, "__array_namespace__"):
        return False, _empty_like, _empty, None, None
    return False, None, None, None, None


def _numpy(kind):
    import numpy

    def empty(like, shape, dtype):
        if dtype == "bf16":
            return numpy.empty(shape, _bfloat16(like))
        return numpy.empty(shape, _NUMPY[dtype])

    def empty_like(like):  # an array, also where `like` is of a subclass with rules of its own
        return numpy.empty_like(like, subok=False)

    exact = kind is numpy.ndarray
    return issubclass(kind, numpy.ndarray), numpy.empty_like if exact else empty_like, empty, None, None


def _bfloat16(like):
    if like.dtype.name == "bfloat16":
        return like.dtype
    import ml_dtypes
    return ml_dtypes.bfloat16


def _torch(kind):
    import torch

    def empty(like, shape, dtype):
        return torch.empty(shape, dtype=getattr(torch, _NUMPY[dtype]), device=like.device)

    def stream(device):
        return torch.cuda.current_stream(device).cuda_stream or 1

    return False, torch.empty_like, empty, None, stream


def _jax(kind):
    """JAX's arrays cannot be written: NumPy's memory is written, then becomes a JAX array."""
    import jax
    import numpy

    def on_cpu(like):
        if any(device.platform != "cpu" for device in like.devices()):
            raise TypeError("a JAX array on a GPU cannot be written; use vjp.jax")

    def empty_like(like):
        on_cpu(like)
        return numpy.empty(like.shape, like.dtype)

    def empty(like, shape, dtype):
        on_cpu(like)
        return numpy.empty(shape, like.dtype if dtype == "bf16" else _NUMPY[dtype])

    def finish(like, made):
        return jax.device_put(made, next(iter(like.devices())))

    return False, empty_like, empty, finish, None


def _cupy(kind):
    import cupy

    def empty(like, shape, dtype):  # CuPy's arrays do not name their namespace, as of 14.2
        with like.device:
            return cupy.empty(shape, _NUMPY[dtype])

    def stream(device):
        return cupy.cuda.get_current_stream().ptr or 1

    return False, cupy.empty_like, empty, None, stream


def _empty_like(like):
    return like.__array_namespace__().empty_like(like)


def _empty(like, shape, dtype):
    library = like.__array_namespace__()
    return library.empty(shape, dtype=getattr(library, _NUMPY[dtype]), device=like.device)


_LIBRARIES = {"numpy": _numpy, "torch": _torch, "jax": _jax, "jaxlib": _jax, "cupy": _cupy}
