# SPDX-License-Identifier: Apache-2.0
"""DTensor: how every operator may be sharded. Importing this module registers the rules.

    import vjp.torch.distributed

Elementwise operators are sharded along any dim, row operators along any dim but the axis. The
gradient of a parameter that is summed over a sharded dim is Partial. DDP and FSDP need none of this.
"""
import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from . import shapes, table


def _row_placement(spec, dim, rows, ndim):
    """Of one element per row: the data's dims without those of the row, or with 1 in their place."""
    if spec is not None and spec.ndim == ndim:
        return Shard(dim)
    return Shard(dim - sum(row < dim for row in rows))


def _param_placement(op, settings, spec, dim, ndim):
    """Of a parameter: sharded where it has the data's dim, else on every rank in full."""
    shape = shapes.param_shape(op, settings, spec.shape, ndim)
    if shape[dim] == 1:
        return Replicate()
    return Shard(0 if spec.ndim == 1 else dim - (ndim - spec.ndim))


def _input_placement(op, settings, info, spec, dim, rows, ndim):
    if spec is None:
        return None
    if info.shape_rule == table.ROW:
        return _row_placement(spec, dim, rows, ndim)
    if info.shape_rule == table.PARAM:
        return _param_placement(op, settings, spec, dim, ndim)
    return Shard(dim)


def _output_placement(op, kwargs, inputs, placements, output, dim, rows, ndim):
    like = op.like(output)
    wanted = not output.is_optional or kwargs.get(f"want_{output.name}", True)
    if not wanted or like is not None and inputs[like] is None:
        return Replicate() # without elements
    if like is None:
        return _row_placement(None, dim, rows, ndim)
    is_summed = output.flags & table.SUM and placements[like].is_replicate()
    return Partial() if is_summed else placements[like]


def _dims(op, settings, ndim):
    """The dims that may be sharded, and those that rows run along."""
    rows = shapes.row_dims(op, settings, ndim)
    dims = [dim for dim in range(ndim) if dim not in rows]
    if op.is_on(table.CAUSAL, settings):
        dims = dims[:-1] # a row's end depends on its place in the last of them
    return dims, rows


def _rule(op):
    def placements(*args, **kwargs):
        inputs = list(args) + [None] * (len(op.inputs) - len(args))
        settings, ndim = op.settings(kwargs), inputs[0].ndim
        dims, rows = _dims(op, settings, ndim)
        acceptable = [([Replicate()] * len(op.outputs),
                       [None if spec is None else Replicate() for spec in args])]
        for dim in dims:
            ins = [_input_placement(op, settings, info, spec, dim, rows, ndim)
                   for info, spec in zip(op.inputs, inputs)]
            outs = [_output_placement(op, kwargs, inputs, ins, output, dim, rows, ndim)
                    for output in op.outputs]
            acceptable.append((outs, ins[:len(args)]))
        return acceptable
    return placements


def register(op):
    """Register the rule of an operator of the table."""
    target = getattr(torch.ops.vjp, op.name).default
    register_sharding(target)(_rule(op))
    # register_sharding takes decisions from its cache unless a tensor or an integer changes. Ours
    # depend on all arguments: on `causal`, on which outputs are wanted, on which input is None.
    info = DTensor._op_dispatcher.sharding_propagator.op_to_schema_info[target]
    info.static_argnum = 0
    info.static_kwargkey = [a.name for a in target._schema.arguments if a.kwarg_only]


for _op in table.OPERATORS.values():
    register(_op)
