# SPDX-License-Identifier: Apache-2.0
"""torch.autocast: tensors that must have one dtype get the widest among them, and a row operator that
returns data (softmax, a norm) computes in float32, as PyTorch's own do."""
import functools

import torch

from . import table

_NARROW = (torch.float16, torch.bfloat16)


def _dtype(op, inputs):
    """What the SAME tensors are cast to."""
    dtypes = [t.dtype for t, info in zip(inputs, op.inputs)
              if t is not None and info.dtype_rule == table.SAME and t.is_floating_point()]
    dtype = functools.reduce(torch.promote_types, dtypes)
    returns_data = any(t.shape_rule == table.DATA for t in op.outputs)
    is_wide = op.axis is not None and returns_data and not op.name.endswith("_backward")
    return torch.float32 if is_wide and dtype in _NARROW else dtype


def _cast(tensor, info, dtype):
    if tensor is None or not tensor.is_floating_point():
        return tensor
    if info.dtype_rule == table.SAME:
        return tensor.to(dtype)
    if info.dtype_rule == table.WIDE and dtype not in _NARROW:
        return tensor.to(dtype) # beside f32 and f64 a parameter has the data's dtype
    return tensor


def kernel(op, device_type):
    """The kernel of the Autocast key of a device."""
    target = getattr(torch.ops.vjp, op.name).default

    def cast_and_call(*inputs, **kwargs):
        dtype = _dtype(op, inputs)
        with torch.autocast(device_type, enabled=False):
            return target(*(_cast(t, info, dtype) for t, info in zip(inputs, op.inputs)), **kwargs)
    return cast_and_call
