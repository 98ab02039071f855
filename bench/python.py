# SPDX-License-Identifier: Apache-2.0
"""The time of one call from Python on 4096 float32, for docs/python.md: the best of 40 batches. The
operator is the first that takes an input and a gradient.

    OMP_NUM_THREADS=1 python bench/python.py

measures NumPy, and PyTorch and JAX where they are installed.
"""

import importlib.util
import inspect
import time

import numpy

import vjp
from timing import microseconds

SIZE = 4096


def best(call):
    return microseconds(call, time.perf_counter, calls=1000, batches=40)


def first_backward():
    for name in vjp.operators:
        function = getattr(vjp, name)
        if list(inspect.signature(function).parameters)[:2] == ["src", "diff_dst"]:
            return function


def report(name, src, diff_dst, out):
    function = first_backward()
    if out is not None:
        given = best(lambda: function(src, diff_dst, out=out))
        print(f"{name:16} out= {given:5.2f} us", end="   ")
    else:
        print(f"{name:16} {'':13}", end="   ")
    print(f"new output {best(lambda: function(src, diff_dst)):5.2f} us")


def main():
    nothing = best(lambda: None)
    print(f"{'an empty call':16} {nothing:10.2f} us (part of each figure below)")
    src = numpy.random.default_rng(0).random(SIZE, numpy.float32)
    diff_dst = numpy.ones_like(src)
    report("NumPy", src, diff_dst, numpy.empty_like(src))
    if importlib.util.find_spec("ml_dtypes"):
        import ml_dtypes
        narrow = [array.astype(ml_dtypes.bfloat16) for array in (src, diff_dst)]
        report("NumPy bfloat16", *narrow, numpy.empty_like(narrow[0]))
    if importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(1)
        tensors = [torch.from_numpy(array) for array in (src, diff_dst)]
        report("PyTorch", *tensors, torch.empty_like(tensors[0]))
    if importlib.util.find_spec("jax"):
        import jax.numpy
        arrays = [jax.numpy.asarray(array) for array in (src, diff_dst)]
        report("JAX", *arrays, None)


if __name__ == "__main__":
    main()
