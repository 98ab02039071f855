# SPDX-License-Identifier: Apache-2.0
"""DTensor, DDP, FSDP2 and tensor parallelism with two processes, compared with one."""
import os
import socket
import warnings

import pytest
import torch
import torch.distributed
import torch.multiprocessing

torch_distributed = torch.distributed
pytestmark = pytest.mark.skipif(not torch_distributed.is_available(), reason="torch without distributed")
WORLD = 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(rank, port):
    """What each of the processes runs."""
    warnings.filterwarnings("ignore")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch_distributed.init_process_group("gloo", rank=rank, world_size=WORLD)
    for part in (sharded_operators, causal_rows, sharded_gradients, models):
        part(rank)
    torch_distributed.barrier()
    torch_distributed.destroy_process_group()
    os._exit(0)  # an orderly exit at times aborts: threads of PyTorch's own are still there


def test_two_processes_compute_what_one_does():
    """One start for all parts: importing torch takes longer than they do."""
    torch.multiprocessing.spawn(start, (free_port(),), nprocs=WORLD)


def mesh():
    return torch_distributed.device_mesh.init_device_mesh("cpu", (WORLD,))


def sharded_operators(rank):
    """Every operator with its data sharded along every dim, also unevenly, and with its parameters
    in full: the results of one process. Those without sums have the same bits."""
    import vjp.torch.distributed # noqa: registers the rules
    from problems import OPERATORS, as_tuple, attributes, inputs, target
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from vjp.torch import table
    devices = mesh()
    for op in OPERATORS:
        for dim in (0, 1, 2):
            tensors, attrs = inputs(op, shape=(5, 4, 6)), attributes(op)
            expected = as_tuple(target(op)(*tensors, **attrs))
            placed = [t if t is None else distribute_tensor(t, devices, [Shard(dim)])
                      if info.shape_rule == table.DATA else distribute_tensor(t, devices, [Replicate()])
                      for info, t in zip(op.inputs, tensors)]
            for output, a, b in zip(op.outputs, as_tuple(target(op)(*placed, **attrs)), expected):
                if op.axis is None and output.shape_rule == table.DATA:
                    assert a.placements == (Shard(dim),), (op.name, dim)
                    assert torch.equal(a.full_tensor(), b), (op.name, dim)
                torch.testing.assert_close(a.full_tensor(), b)
        check_other_arguments(op, devices)


def check_other_arguments(op, devices):
    """Decisions are not taken from the cache when other outputs are wanted or rows end elsewhere."""
    from problems import as_tuple, attributes, inputs, target
    from torch.distributed.tensor import Shard, distribute_tensor
    from vjp.torch import table
    flags = [{f"want_{o.name}": False} for o in op.outputs[1:] if o.is_optional]
    flags += [{a.name: True} for a in op.attrs if a.role == table.CAUSAL]
    tensors, attrs = inputs(op, shape=(4, 4, 6), optional=False), attributes(op)
    placed = [distribute_tensor(t, devices, [Shard(1 if t.dim() > 1 else 0)])
              if t is not None else None for t in tensors]
    for flag in ({}, *flags, {}):
        for a, b in zip(as_tuple(target(op)(*placed, **attrs, **flag)),
                        as_tuple(target(op)(*tensors, **attrs, **flag))):
            torch.testing.assert_close(a.full_tensor(), b)


def causal_rows(rank):
    """Whatever the axis, the dim that says where a row ends is not sharded."""
    from torch.distributed.tensor import Shard, distribute_tensor
    x, softmax = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(0)), torch.ops.vjp.softmax
    for axis in (0, 1, 2):
        expected = softmax(x, axis=axis, causal=True)[0]
        for dim in (0, 1, 2):
            placed = distribute_tensor(x, mesh(), [Shard(dim)])
            result = softmax(placed, axis=axis, causal=True)[0].full_tensor()
            torch.testing.assert_close(result, expected)


def sharded_gradients(rank):
    """Operators with a backward, through autograd, from sharded data and full parameters."""
    import vjp.torch.distributed # noqa: registers the rules
    from problems import PAIRS, as_tuple, attributes, inputs, target
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from vjp.torch import table
    devices = mesh()
    for op, back in PAIRS:
        for dim in (0, 1):
            tensors, attrs = inputs(op, shape=(4, 6)), attributes(op)
            with_gradient = [f"diff_{info.name}" in back.output_names and t is not None
                             for info, t in zip(op.inputs, tensors)]
            placed = [t if t is None else distribute_tensor(
                t, devices, [Shard(dim) if info.shape_rule == table.DATA else Replicate()])
                for info, t in zip(op.inputs, tensors)]
            gradients = []
            for arguments in (tensors, placed):
                leaves = [t.requires_grad_() for t, chosen in zip(arguments, with_gradient) if chosen]
                output = as_tuple(target(op)(*arguments, **attrs))[0]
                gradients.append(torch.autograd.grad((output * output).sum(), leaves))
            for one, two in zip(*gradients):
                torch.testing.assert_close(two.full_tensor(), one)


class Model(torch.nn.Module):
    """PyTorch's functions, or ours where the table has them."""

    def __init__(self, functional):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
        self.activation = getattr(functional, "relu", torch.relu)
        self.gate = getattr(functional, "sigmoid", torch.sigmoid)

    def forward(self, x):
        return self.gate(self.second(self.activation(self.first(x))))


def models(rank):
    """A model with enable(), under DDP, FSDP2 and tensor parallelism: the gradients of one process."""
    import vjp.torch
    import vjp.torch.distributed # noqa: registers the rules
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    vjp.torch.enable()
    devices, x = mesh(), torch.randn(8, 32, generator=torch.Generator().manual_seed(1))

    def gradients(model, x, scale=1.0):
        ((model(x) * torch.arange(32.)).sum() * scale).backward()
        return [p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
                for p in model.parameters()]
    expected = gradients(Model(vjp.torch.functional), x)
    share = x.chunk(WORLD)[rank]
    ddp = torch.nn.parallel.DistributedDataParallel(Model(vjp.torch.functional))
    sharded = fully_shard(Model(vjp.torch.functional), mesh=devices)
    parallel = parallelize_module(Model(vjp.torch.functional), devices,
                                  {"first": ColwiseParallel(), "second": RowwiseParallel()})
    for model, data, scale in ((ddp, share, WORLD), (sharded, share, WORLD), (parallel, x, 1.0)):
        for a, b in zip(gradients(model, data, scale), expected):
            torch.testing.assert_close(a, b)
    assert vjp.torch.report()["threshold_backward"].taken or hasattr(vjp.torch.functional, "relu")
