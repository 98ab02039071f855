# SPDX-License-Identifier: Apache-2.0
"""Calls leave no references, capsules or memory behind. VJP_CALLS=1000000 for a long run."""

import gc
import os
import resource
import sys

import ml_dtypes
import numpy as np
import pytest

import standin
import vjp
from standin import StandIn

CALLS = int(os.environ.get("VJP_CALLS", 20000))
x = np.ones((2, 3), np.float32)
slope = np.ones(3, np.float32)
out = np.zeros_like(x)
narrow = x.astype(ml_dtypes.bfloat16)
int8 = x.astype(np.int8)
read_only = x.copy()
read_only.flags.writeable = False


def refused(*args, **keywords):
    try:
        vjp.relu_backward(*args, **keywords)
    except (TypeError, ValueError):
        return
    raise AssertionError("was not refused")


WAYS = {
    "new output": lambda: vjp.relu_backward(x, x),
    "out": lambda: vjp.relu_backward(x, x, out=out),
    "bfloat16": lambda: vjp.relu_backward(narrow, narrow),
    "two outputs": lambda: vjp.prelu_backward(x, slope, x),
    "want": lambda: vjp.prelu_backward(x, slope, x, want=["diff_src"]),
    "attributes": lambda: vjp.hard_sigmoid_backward(x, x, alpha=0.3, beta=1, out=out),
    "str": lambda: vjp.prelu_backward(x, slope, x, data_format="NXC"),
    "dlpack": lambda: vjp.relu_backward(StandIn(x), StandIn(x), out=StandIn(out)),
    "refused dtype": lambda: refused(int8, x),
    "refused shape": lambda: refused(x, x[:, :2]),
    "refused output": lambda: refused(x, x, out=read_only),
    "refused want": lambda: refused(x, x, want=3),
    "refused object": lambda: refused(x, object()),
    "refused capsule": lambda: refused(StandIn(x, version=(2, 0)), x),
    "refused attribute": lambda: refused(x, x, use_dst="no"),
}


def what_is_known_of_numpy():
    """The tuple that vjp._core keeps for numpy.ndarray."""
    return next(o for o in gc.get_objects()
                if isinstance(o, tuple) and len(o) == 5 and o[0] is True and o[1] is np.empty_like)


def is_sanitized():
    with open("/proc/self/maps") as file:
        return "libasan" in file.read()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("way", WAYS)
def test_calls_leave_nothing_behind(way):
    call = WAYS[way]
    call()
    objects = (x, slope, out, narrow, int8, read_only, np.ndarray, np.dtype(ml_dtypes.bfloat16),
               what_is_known_of_numpy())
    count = CALLS if way != "dlpack" or CALLS > 100000 else CALLS // 10
    for _ in range(200):
        call()
    before, memory = [sys.getrefcount(o) for o in objects], resident()
    for _ in range(count):
        call()
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 20 for a, b in zip(after, before)), (before, after)
    assert is_sanitized() or resident() - memory < 2**20 + count * 4  # not four bytes per call
    assert standin.alive == 0
