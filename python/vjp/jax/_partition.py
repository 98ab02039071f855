# SPDX-License-Identifier: Apache-2.0
"""Calls in canonical form (_calls.py) to XLA: on local arrays, batched, and sharded.

A dim of a tensor is a dim of the data, or has size 1. So a sharding of the data gives those of all
other tensors. The dims that rows run along are never sharded, nor the one that says where causal
rows end. A gradient that is summed over sharded dims is added up over their devices.
"""

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from .._describe import DATA, PARAM, ROW


class Call(NamedTuple):
    """All of a call but its arrays."""

    op: str
    settings: tuple  # (name, value) of each attribute
    inputs: tuple  # (name, shape rule)
    outputs: tuple  # (name, shape rule, dtype, the input that has its shape if it is a parameter)
    naxes: int  # how many dims rows run along
    first_axis: int  # the first of them, counted from the end
    causal: bool  # a row's end depends on its place in the last of the other dims

    def axes(self, ndim):
        first = ndim + self.first_axis
        return range(first, first + self.naxes)

    def whole(self, ndim):
        """The dims that must not be sharded."""
        axes = set(self.axes(ndim))
        return axes | {max(set(range(ndim)) - axes)} if self.causal else axes


# ---- one device ----------------------------------------------------------------------------------


def varying(array):
    """The axes of an enclosing shard_map along which an array differs."""
    kind = jax.typeof(array)
    return kind.vma if hasattr(kind, "vma") else kind.manual_axis_type.varying


def align(*arrays):
    """The same arrays, declared to differ along the same axes of an enclosing shard_map."""
    axes = frozenset().union(*map(varying, arrays))
    return [a if varying(a) == axes else jax.lax.pcast(a, tuple(axes - varying(a)), to="varying")
            for a in arrays]


def _type(call, output, arrays):
    """The type of a result: shape, dtype and, in shard_map, the axes along which it differs."""
    _, rule, dtype, like = output
    if rule == ROW:
        axes = tuple(call.axes(arrays[0].ndim))
        return jax.eval_shape(lambda x: jnp.sum(x, axes).astype(dtype), arrays[0])
    if arrays[like].dtype == dtype:
        return jax.typeof(arrays[like])
    return jax.eval_shape(lambda x: x.astype(dtype), arrays[like])


def _in_place(call, arrays):
    """The gradient that the first output may overwrite, if XLA has no other use for it."""
    _, rule, dtype, _ = call.outputs[0]
    for index, (name, input_rule) in enumerate(call.inputs):
        if rule == input_rule == DATA and name.startswith("diff_") and arrays[index].dtype == dtype:
            return {index: 0}
    return {}


def _local(call, *arrays):
    types = tuple(_type(call, output, arrays) for output in call.outputs)
    tensors = " ".join(part[0] for part in call.inputs + call.outputs)
    run = jax.ffi.ffi_call("vjp", types, input_output_aliases=_in_place(call, arrays))
    return tuple(run(*arrays, op=call.op, tensors=tensors, **dict(call.settings)))


# ---- many devices --------------------------------------------------------------------------------


def _shapes(call, shapes):
    """The shape rule and shape of every tensor, inputs then outputs."""
    data = shapes[0]
    rows = tuple(n for d, n in enumerate(data) if d not in call.axes(len(data)))
    for (_, rule), shape in zip(call.inputs, shapes):
        yield rule, shape
    for _, rule, _, like in call.outputs:
        yield rule, rows if rule == ROW else shapes[like]


def _dims(call, rule, shape, data):
    """The data's dim for each dim of a tensor; None where it is broadcast."""
    if rule == ROW:
        return [d for d in range(len(data)) if d not in call.axes(len(data))]
    return [d if n == m else None for d, (n, m) in enumerate(zip(shape, data))]


def _rule(call, shapes):
    """The sharding rule in Shardy's words, such as "d0 d1, b0 d1 -> d0 d1"."""
    fresh = (f"b{i}" for i in itertools.count())
    words = [" ".join(next(fresh) if d is None else f"d{d}" for d in _dims(call, rule, shape, shapes[0]))
             for rule, shape in _shapes(call, shapes)]
    count = len(call.inputs)
    return ", ".join(words[:count]) + " -> " + ", ".join(words[count:])


def _mesh_axes(entry):
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def _spec(call, mesh, sharding, data):
    """How to shard the data: as it is, but whole rows, and shards of one size."""
    spec = list(getattr(sharding, "spec", ()))
    spec += [None] * (len(data) - len(spec))
    for d, entry in enumerate(spec):
        shards = 1
        for axis in _mesh_axes(entry):
            shards *= mesh.shape[axis]
        if d in call.whole(len(data)) or data[d] % shards:
            spec[d] = None
    return spec


def _partition(call, mesh, arg_shapes, result_shapes):
    shapes = [arg.shape for arg in arg_shapes]
    data = shapes[0]
    spec = _spec(call, mesh, arg_shapes[0].sharding, data)
    shardings, sums = [], []
    for rule, shape in _shapes(call, shapes):
        dims = _dims(call, rule, shape, data)
        entries = [None if d is None or data[d] == 1 else spec[d] for d in dims]
        shardings.append(NamedSharding(mesh, PartitionSpec(*entries)))
        missing = set(range(len(data))) - set(dims) if rule == PARAM else ()
        sums.append(tuple(axis for d in sorted(missing) for axis in _mesh_axes(spec[d])))
    count = len(call.inputs)

    def lower(*arrays):
        with jax.sharding.use_abstract_mesh(_automatic(mesh)):
            return tuple(map(_add, _local(call, *arrays), sums[count:]))

    return mesh, lower, tuple(shardings[count:]), tuple(shardings[:count])


def _automatic(mesh):
    """A mesh whose axes are not in the arrays' types: XLA refuses a sum with a sharding inside."""
    return mesh.abstract_mesh.update_axis_types({name: AxisType.Auto for name in mesh.axis_names})


def _add(array, axes):
    """The sum over devices, in at least 32 bits."""
    if not axes:
        return array
    wide = array.astype(jnp.promote_types(array.dtype, jnp.float32))
    return jax.lax.psum(wide, axes).astype(array.dtype)


@functools.lru_cache(maxsize=None)
def _sharded(call, shapes):
    function = custom_partitioning(lambda *arrays: _local(call, *arrays))
    ndim = len(shapes[0])
    function.def_partition(
        partition=functools.partial(_partition, call), sharding_rule=_rule(call, shapes),
        need_replication_factors=tuple(f"d{d}" for d in sorted(call.whole(ndim))))
    return function


def _run(call, *arrays):
    shapes = tuple(array.shape for array in arrays)
    if any(len(shape) == 0 for _, shape in _shapes(call, shapes)):  # nothing to shard
        return _local(call, *arrays)
    return _sharded(call, shapes)(*arrays)


# ---- vmap ----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def batched(call):
    """The call as a function of its arrays, which vmap gives one more dim in front."""
    function = jax.custom_batching.custom_vmap(functools.partial(_run, call))

    @function.def_vmap
    def rule(size, is_batched, *arrays):
        whole = [a if b else jnp.broadcast_to(a, (size, *a.shape)) for a, b in zip(arrays, is_batched)]
        results = batched(call)(*whole)
        return results, tuple(True for _ in results)

    run = jax.custom_jvp(jax.jit(function))  # jit: outside of a program's own, a tenth of the time

    @run.defjvp
    def refuse(primals, tangents):
        raise NotImplementedError(f"{call.op}: vjp has no derivative of this operator")

    return run
