# SPDX-License-Identifier: Apache-2.0
"""Every operator against the conformance vectors: exact answers, computed without this library."""

import numpy as np
import pytest

import kit
import vjp
from support import TABLE


def strided(array, strides):
    """A copy with these strides, in elements: negative ones as in the vectors."""
    if strides is None:
        return array.copy()
    low = sum(min(0, s * (n - 1)) for s, n in zip(strides, array.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(strides, array.shape))
    memory = np.zeros(high - low + 1, array.dtype)
    size = array.dtype.itemsize
    view = np.lib.stride_tricks.as_strided(memory[-low:], array.shape, [s * size for s in strides])
    view[...] = array
    return view


@pytest.mark.parametrize("name", vjp.operators)
def test_operator_keeps_to_the_vectors(name):
    op = TABLE[name]
    cases = kit.read(kit.VECTORS / f"{name}.safetensors")
    assert cases
    for case in cases:
        inputs = {n: strided(array, case.strides.get(n)) for n, array in case.inputs.items()}
        wanted = [t["name"] for t in op["outputs"] if t["name"] in case.outputs]
        out = tuple(strided(case.outputs[t["name"]].exact, case.strides.get(t["name"]))
                    if t["name"] in case.outputs else None for t in op["outputs"])
        results = getattr(vjp, name)(**inputs, **case.attributes, out=out)
        results = results if isinstance(results, tuple) else (results,)
        assert len(results) == len(wanted) > 0
        for which, _, fault in kit.compare(case, dict(zip(wanted, results))):
            assert (fault == "").all(), (case.name, which, np.argwhere(fault != "")[:5])
