# SPDX-License-Identifier: Apache-2.0
"""What PyTorch requires of an operator besides its results: schemas, fake tensors, vmap, autocast."""
import pytest
import torch
from problems import OPERATORS, as_tuple, attributes, inputs, name_of, outputs_like, same, target
from vjp.torch import table

each_operator = pytest.mark.parametrize("op", OPERATORS, ids=name_of)


@each_operator
def test_opcheck(op):
    for dtype, optional in ((torch.float32, True), (torch.bfloat16, False)):
        tensors, attrs = inputs(op, dtype=dtype, optional=optional), attributes(op)
        torch.library.opcheck(target(op), tensors, attrs)


@each_operator
def test_opcheck_of_other_layouts(op):
    tensors, attrs = inputs(op, shape=(4, 6, 8)), attributes(op)
    for layout in (lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
                   lambda t: torch.stack((t, t), 1)[:, 0], lambda t: t[:1].expand(t.shape)):
        arranged = [layout(t) if t is not None and t.shape == (4, 6, 8) else t for t in tensors]
        torch.library.opcheck(target(op), arranged, attrs,
                              test_utils=("test_schema", "test_faketensor"))


@each_operator
def test_opcheck_of_the_out_variant(op):
    tensors, attrs = inputs(op), attributes(op)
    outputs = outputs_like(op, as_tuple(target(op)(*tensors, **attrs)))
    # PyTorch cannot trace an operator that mutates and has an argument of the name "mode".
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    tests += () if "mode" in op.attr_names else ("test_aot_dispatch_dynamic",)
    torch.library.opcheck(target(op, "_out"), tensors, {**attrs, **outputs}, test_utils=tests)


@each_operator
def test_vmap_is_a_loop_over_the_batch(op):
    attrs, batch = attributes(op), 3
    samples = [inputs(op, seed=i) for i in range(batch)]
    given = [i for i, t in enumerate(samples[0]) if t is not None]
    for batched in ([*given], [0], [given[-1]]): # all inputs, the first alone, the last alone
        arguments, dims = [], []
        for i, t in enumerate(samples[0]):
            if i in batched:
                arguments.append(torch.stack([s[i] for s in samples], t.dim())) # the batch comes last
                dims.append(t.dim())
            else:
                arguments.append(t)
                dims.append(None)
        results = as_tuple(torch.vmap(lambda *a: target(op)(*a, **attrs), tuple(dims))(*arguments))
        for k in range(batch):
            sample = [s if i in batched else samples[0][i] for i, s in enumerate(samples[k])]
            for a, b in zip(results, as_tuple(target(op)(*sample, **attrs))):
                torch.testing.assert_close(a[k], b)


@each_operator
def test_vmap_of_channels_in_the_middle_and_of_a_first_axis(op):
    attrs = attributes(op)
    formats = [a.name for a in op.attrs if a.role == table.FORMAT]
    if op.axis is not None and all(t.shape_rule == table.DATA for t in op.inputs):
        attrs[op.axis.name] = 0
    elif formats:
        attrs[formats[0]] = "NCX"
    else:
        return
    samples = [inputs(op, shape=(4, 8, 8), seed=i) for i in range(3)]
    stacked = [torch.stack(tensors) for tensors in zip(*samples)]
    results = as_tuple(torch.vmap(lambda *a: target(op)(*a, **attrs))(*stacked))
    for k, sample in enumerate(samples):
        for a, b in zip(results, as_tuple(target(op)(*sample, **attrs))):
            torch.testing.assert_close(a[k], b)


def test_vmap_of_a_causal_row_alone():
    """It is the last row, which ends nowhere early; a batch does not change that."""
    x = torch.randn(4, 5)
    result = torch.vmap(lambda row: torch.ops.vjp.softmax(row, axis=0, causal=True)[0])(x)
    torch.testing.assert_close(result, torch.softmax(x, 1))


def test_vmap_where_the_format_does_not_apply():
    x, slope = -torch.rand(2, 3, 4, 4), torch.arange(1.0, 5)
    call = lambda x, slope: torch.ops.vjp.prelu(x, slope, data_format="NCX",
                                                per_channel_broadcast=False)
    assert torch.equal(torch.vmap(call, (0, None))(x, slope), x * slope)
    leaf = slope.clone().requires_grad_()
    gradient, = torch.autograd.grad(call(x[0], leaf).sum(), leaf)
    torch.testing.assert_close(gradient, x[0].sum((0, 1)))


@each_operator
def test_autocast_gives_tensors_of_one_kind_the_widest_dtype(op):
    attrs = attributes(op)
    tensors = inputs(op, dtype=torch.bfloat16)
    same_kind = [i for i, info in enumerate(op.inputs) if info.dtype_rule == table.SAME]
    mixed = [t.float() if i == same_kind[-1] else t for i, t in enumerate(tensors)]
    wide = [t.float() if i in same_kind else t for i, t in enumerate(tensors)]
    wide = [t.float() if info.dtype_rule == table.WIDE and t is not None else t
            for info, t in zip(op.inputs, wide)]
    with torch.autocast("cpu", torch.bfloat16):
        results = as_tuple(target(op)(*mixed, **attrs))
    for a, b in zip(results, as_tuple(target(op)(*wide, **attrs))):
        assert same(a, b)
