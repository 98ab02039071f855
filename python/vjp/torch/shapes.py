# SPDX-License-Identifier: Apache-2.0
"""What the operators return before anything is computed (fake kernels), and how they batch (vmap)."""
import torch

from . import table


def _pad(op, args):
    """The inputs of a call; the dispatcher leaves out trailing ones that have their default."""
    return list(args) + [None] * (len(op.inputs) - len(args))


def row_dims(op, settings, ndim):
    """The dims that rows run along; empty for an elementwise operator."""
    if op.axis is None:
        return ()
    axis = settings[op.axis.name]
    if not -ndim <= axis < ndim:
        raise ValueError(f"{op.name}: attribute {op.axis.name}: {axis} is out of range, "
                         f"{op.inputs[0].name} has {ndim} dims")
    first = axis % ndim
    return (first,) if op.axis.role == table.AXIS else tuple(range(first, ndim))


def _empty_rows(op, output, data, settings):
    rows = row_dims(op, settings, data.dim())
    shape = [size for i, size in enumerate(data.shape) if i not in rows]
    is_same = output.dtype_rule == table.SAME or data.dtype == torch.float64
    return data.new_empty(shape, dtype=data.dtype if is_same else torch.float32)


def fake(op):
    """The shapes, dtypes and strides of what the operator returns."""
    def kernel(*args, **kwargs):
        inputs = _pad(op, args)
        results = []
        for output in op.outputs:
            like = op.like(output)
            wanted = not output.is_optional or kwargs.get(f"want_{output.name}", True)
            if not wanted or like is not None and inputs[like] is None:
                results.append(inputs[0].new_empty(0))
            elif like is None:
                results.append(_empty_rows(op, output, inputs[0], op.settings(kwargs)))
            else:
                results.append(torch.empty_like(inputs[like]))
        return results[0] if len(results) == 1 else tuple(results)
    return kernel


# ---- vmap -----------------------------------------------------------------------------------------

def param_shape(op, settings, param, ndim):
    """A PARAM's shape with one dim for each of the data's: what a 1-D one means depends on the rank,
    which batching changes."""
    shape = list(param)
    if len(shape) == 1 and shape[0] != 1 and ndim > 1:
        dim = 1 if op.has_channels_first(settings) else ndim - 1
        if op.axis is not None:
            dim = row_dims(op, settings, ndim)[-1 if op.axis.role == table.AXES else 0]
        return [1] * dim + shape + [1] * (ndim - dim - 1)
    return [1] * (ndim - len(shape)) + shape


def _batched_settings(op, settings, kwargs, ndim):
    """The batch becomes dim 0, so an axis must count from the end. A row alone is the last row: it
    does not end at the diagonal, and must not when a batch gives it company."""
    if op.axis is None:
        return kwargs
    axis = settings[op.axis.name]
    changed = {op.axis.name: axis - ndim if axis >= 0 else axis}
    if len(row_dims(op, settings, ndim)) == ndim:
        changed |= {a.name: False for a in op.attrs if a.role == table.CAUSAL}
    return {**kwargs, **changed}


def batched(op):
    """The rule of torch.vmap: the batch is one more dim in front of all tensors."""
    target = getattr(torch.ops.vjp, op.name).default

    def rule(info, in_dims, *args, **kwargs):
        inputs = _pad(op, args)
        in_dims = _pad(op, in_dims[:len(args)])
        settings = op.settings(kwargs)
        ndim = inputs[0].dim() - (in_dims[0] is not None)
        samples, stacked = [], []
        for info_in, tensor, dim in zip(op.inputs, inputs, in_dims):
            if tensor is None:
                samples.append(None)
                stacked.append(None)
                continue
            tensor = tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
            samples.append(tensor.shape[1:])
            if info_in.shape_rule == table.PARAM:
                shape = param_shape(op, settings, tensor.shape[1:], ndim)
                tensor = tensor.reshape(tensor.shape[0], *shape)
            stacked.append(tensor.expand(info.batch_size, *tensor.shape[1:]))
        results = target(*stacked, **_batched_settings(op, settings, kwargs, ndim))
        results = results if isinstance(results, tuple) else (results,)
        out, out_dims = [], []
        for output, result in zip(op.outputs, results):
            like = op.like(output)
            unwanted = result.dim() == 1 and result.shape[0] == 0 and output.is_optional
            if not unwanted and output.shape_rule == table.PARAM:
                result = result.reshape(info.batch_size, *samples[like])
            out.append(result)
            out_dims.append(None if unwanted else 0)
        if len(out) == 1:
            return out[0], out_dims[0]
        return tuple(out), tuple(out_dims)
    return rule
