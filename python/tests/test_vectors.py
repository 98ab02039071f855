# SPDX-License-Identifier: Apache-2.0
"""Every operator against the conformance vectors: exact answers, computed without this library."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import vjp
from support import TABLE

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors"
DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
          "I32": np.int32, "I64": np.int64, "U8": np.uint8}


def read(path):
    """The cases and tensors of a safetensors file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    cases = json.loads(header.pop("__metadata__")["cases"])
    data = content[8 + size:]
    tensors = {}
    for name, info in header.items():
        start, end = info["data_offsets"]
        tensors[name] = np.frombuffer(data[start:end], DTYPES[info["dtype"]]).reshape(info["shape"])
    return cases, tensors


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


def is_correct(result, exact, low, high):
    wide = [a.astype(np.float64) for a in (result, exact, low, high)]
    nan = np.isnan(wide[1])
    inside = (wide[2] <= wide[0]) & (wide[0] <= wide[3])
    signs = [np.signbit(a) for a in wide]
    sign = (wide[0] != 0) | (signs[2] != signs[3]) | (signs[0] == signs[2])
    return np.where(nan, np.isnan(wide[0]), inside & sign)


@pytest.mark.parametrize("name", vjp.operators)
def test_operator_keeps_to_the_vectors(name):
    op = TABLE[name]
    cases, tensors = read(VECTORS / f"{name}.safetensors")
    assert cases
    for case in cases:
        strides = case.get("strides", {})

        def tensor(which):
            array = tensors.get(f"{case['name']}/{which}")
            return None if array is None else strided(array, strides.get(which))

        inputs = {t["name"]: tensor(t["name"]) for t in op["inputs"]}
        out = tuple(tensor(t["name"]) for t in op["outputs"])
        results = getattr(vjp, name)(**inputs, **case["attributes"], out=out)
        results = results if isinstance(results, tuple) else (results,)
        wanted = [t["name"] for t, array in zip(op["outputs"], out) if array is not None]
        assert len(results) == len(wanted) > 0
        for which, result in zip(wanted, results):
            key = f"{case['name']}/{which}"
            correct = is_correct(result, *(tensors[key + end] for end in ("", ".low", ".high")))
            assert correct.all(), (key, np.argwhere(~correct)[:5])
