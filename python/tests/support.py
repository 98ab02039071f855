# SPDX-License-Identifier: Apache-2.0
"""Problems for any operator of the table, and arrays of other layouts."""

import ml_dtypes
import numpy as np

import vjp
from vjp import _core

DATA, PARAM, ROW = 1, 2, 3
SAME, WIDE, ANY, STAT, INDEX, MASK = 1, 2, 3, 4, 5, 6
OPTIONAL, SUM, LABEL = 1, 2, 4
AXIS, AXES = 5, 6
FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
TABLE = {op["name"]: op for op in _core.table()}


def has_axis(op):
    return any(attr["role"] in (AXIS, AXES) for attr in op["attrs"])


def axis_of(op, ndim):
    """The first and the last dim that rows run along, by default."""
    for attr in op["attrs"]:
        if attr["role"] in (AXIS, AXES):
            first = attr["default"] % ndim
            return first, ndim - 1 if attr["role"] == AXES else first
    return ndim, -1


def row_shape(op, shape):
    first, last = axis_of(op, len(shape))
    return tuple(n for d, n in enumerate(shape) if not first <= d <= last)


def numbers(shape, dtype, seed=0):
    values = np.random.default_rng(seed).uniform(-2, 2, shape)
    return values.astype(FLOATS.get(dtype, dtype))


def tensor(op, info, shape, dtype, seed):
    """An array that an operator takes as this input."""
    first, last = axis_of(op, len(shape))
    length = int(np.prod(shape[first:last + 1]))
    if info["shape_rule"] == ROW:
        shape = row_shape(op, shape)
    elif info["shape_rule"] == PARAM:
        shape = shape[first:last + 1] if has_axis(op) else shape[-1:]
    if info["dtype_rule"] == MASK:
        return np.random.default_rng(seed).integers(0, 2, shape).astype(np.uint8)
    if info["dtype_rule"] == INDEX:
        return np.random.default_rng(seed).integers(0, max(1, length), shape).astype(np.int64)
    if info["dtype_rule"] == STAT:
        return np.abs(numbers(shape, "f64" if dtype == "f64" else "f32", seed)) + 0.5
    return numbers(shape, dtype, seed)


def problem(name, shape=(4, 6), dtype="f32", optional=False):
    """Arguments (inputs by name) and keywords (attributes) of a valid call."""
    op = TABLE[name]
    inputs = {info["name"]: tensor(op, info, shape, dtype, seed)
              for seed, info in enumerate(op["inputs"])
              if optional or not info["flags"] & OPTIONAL}
    required = [attr["name"] for attr in op["attrs"] if attr["required"]]
    attrs = {name: i - 0.5 for i, name in enumerate(required)}  # min is below max
    return inputs, attrs


def call(name, inputs, attrs, **keywords):
    return getattr(vjp, name)(**inputs, **attrs, **keywords)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same(a, b):
    """The same bits; all NaNs are one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.all((bits(a) == bits(b)) | ((a != a) & (b != b))))


def is_elementwise(name):
    """Do the bits of its results not depend on strides?"""
    op = TABLE[name]
    return not has_axis(op) and not any(o["flags"] & SUM for o in op["outputs"])


# Of a sum that is made in another order, then rounded; of the largest result where others cancel.
SUM_ERRORS = {"bfloat16": 2**-7, "float16": 2**-10, "float32": 1e-5, "float64": 1e-12}


def close(a, b, name):
    if is_elementwise(name):
        return same(a, b)
    error = SUM_ERRORS[a.dtype.name]
    a, b = a.astype(np.float64), b.astype(np.float64)
    largest = np.max(np.abs(b), initial=1, where=np.isfinite(b))
    return np.allclose(a, b, rtol=error, atol=min(error, 1e-6) * largest, equal_nan=True)


def difference(a, b, name):
    """Nothing if they are close, else one line that says where they differ most."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
    if close(a, b, name):
        return ""
    wide = a.astype(np.float64), b.astype(np.float64)
    apart = np.nan_to_num(np.abs(wide[0] - wide[1]), nan=np.inf)
    at = np.unravel_index(np.argmax(apart), apart.shape)
    return (f"{a.dtype}{list(a.shape)}: {wide[0][at]:.9g} instead of {wide[1][at]:.9g} at "
            f"{[int(i) for i in at]}; {np.count_nonzero(bits(a) != bits(b))} of {a.size} differ in bits")
