# SPDX-License-Identifier: Apache-2.0
"""A problem for any operator of the table, in PyTorch's tensors."""
import functools

import torch
import vjp
import vjp.torch
from vjp._describe import renamed
from vjp.torch import table

OPERATORS = tuple(table.OPERATORS.values())
PAIRS = tuple((op, table.OPERATORS[f"{op.name}_backward"]) for op in OPERATORS
              if f"{op.name}_backward" in table.OPERATORS)
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def name_of(value):
    """How pytest names a parameter."""
    if isinstance(value, table.Operator):
        return value.name
    return value[0].name if isinstance(value, tuple) else str(value).removeprefix("torch.")


def with_gradients(op, back):
    """The indices of the inputs that the backward operator has a gradient of."""
    names = {o.name for o in back.outputs}
    return [i for i, info in enumerate(op.inputs) if renamed(back.name, f"diff_{info.name}") in names]


def target(op, suffix=""):
    return getattr(torch.ops.vjp, op.name + suffix).default


def attributes(op, ndim=2):
    """What has no default; rows along the last dim."""
    attrs = {a.name: 0.3 + 0.1 * i for i, a in enumerate(op.attrs) if a.required}
    if op.axis is not None:
        attrs[op.axis.name] = -1
    return attrs


@functools.cache
def needs_positive(op):
    """Whether a root or a logarithm is in its formula."""
    return any(r.isnan().any() for r in as_tuple(target(op)(*_inputs(op, (6, 8)), **attributes(op))))


def inputs(op, shape=(6, 8), dtype=torch.float32, seed=0, optional=True):
    """One tensor for each input; None for an optional one that is left out."""
    return _inputs(op, shape, dtype, seed, optional, needs_positive(op))


def _inputs(op, shape, dtype=torch.float32, seed=0, optional=True, positive=False):
    generator = torch.Generator().manual_seed(seed)
    rows, length = shape[:-1], shape[-1]
    tensors = []
    for info in op.inputs:
        size = {table.DATA: shape, table.PARAM: (length,), table.ROW: rows}[info.shape_rule]
        if info.is_optional and not optional:
            tensors.append(None)
        elif info.dtype_rule == table.INDEX:
            tensors.append(torch.randint(0, length, size, generator=generator))
        elif info.dtype_rule == table.MASK:
            tensors.append(torch.rand(size, generator=generator) > 0.3)
        else:
            values = torch.randn(size, generator=generator, dtype=torch.float64)
            is_stat = info.dtype_rule == table.STAT and dtype != torch.float64
            # A row's statistics are positive and of its size: 1/sd, or the log of a sum.
            values = values.abs() + 1 if positive or info.dtype_rule == table.STAT else values
            tensors.append(values.to(torch.float32 if is_stat else dtype))
    return tensors


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def plain(op, tensors, attrs):
    """The same call through the package's plain function, outputs by name."""
    given = {info.name: t.to(torch.uint8) if t.dtype == torch.bool else t
             for info, t in zip(op.inputs, tensors) if t is not None}
    known = [o.name for o in op.outputs if op.like(o) is None or tensors[op.like(o)] is not None]
    want = {"want": known} if any(o.is_optional for o in op.outputs) else {}
    return dict(zip(known, as_tuple(getattr(vjp, op.name)(**given, **attrs, **want))))


def same(a, b):
    """The same bits."""
    a, b = (t.reshape(-1).contiguous() for t in (a, b)) if a.shape == b.shape else (a, b)
    return a.dtype == b.dtype and torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def outputs_like(op, results):
    return {info.name: torch.empty_like(r) for info, r in zip(op.outputs, results)}
