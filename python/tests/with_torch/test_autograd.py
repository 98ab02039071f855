# SPDX-License-Identifier: Apache-2.0
"""Gradients of every operator `name` that has a `name_backward`."""
import dataclasses

import pytest
import torch
import torch.utils.checkpoint
import vjp.torch
from problems import PAIRS, as_tuple, attributes, inputs, name_of, target
from vjp.torch import autograd, second, shapes, table

each_pair = pytest.mark.parametrize("pair", PAIRS, ids=name_of)


def differentiable(op, tensors, attrs):
    """The operator as a function of the inputs that have a gradient, and those inputs."""
    back = table.OPERATORS[f"{op.name}_backward"]
    names = {o.name for o in back.outputs}
    chosen = [i for i, info in enumerate(op.inputs)
              if f"diff_{info.name}" in names and tensors[i] is not None]

    def function(*values):
        arguments = list(tensors)
        for i, value in zip(chosen, values):
            arguments[i] = value
        return as_tuple(target(op)(*arguments, **attrs))[0]
    return function, [tensors[i].clone().requires_grad_() for i in chosen]


@each_pair
@pytest.mark.parametrize("optional", (True, False), ids=("all", "required"))
def test_gradcheck(pair, optional):
    op = pair[0]
    function, leaves = differentiable(op, inputs(op, dtype=torch.float64, optional=optional), attributes(op))
    assert torch.autograd.gradcheck(function, leaves)


@each_pair
def test_second_derivatives_or_a_refusal(pair):
    op, back = pair
    function, leaves = differentiable(op, inputs(op, dtype=torch.float64), attributes(op))
    if back.name in second.FORMULAS:
        assert torch.autograd.gradgradcheck(function, leaves)
        return
    gradient, = torch.autograd.grad(function(*leaves).square().sum(), leaves[:1], create_graph=True)
    with pytest.raises(NotImplementedError, match=f"{back.name}: vjp has no second derivative"):
        gradient.sum().backward()


@each_pair
def test_opcheck_with_gradients(pair):
    op = pair[0]
    tensors, attrs = inputs(op), attributes(op)
    for info in pair[1].outputs:
        tensors[op.input_names.index(info.name.removeprefix("diff_"))].requires_grad_()
    torch.library.opcheck(target(op), tensors, attrs)


@each_pair
def test_functional_transforms(pair):
    op = pair[0]
    attrs, samples = attributes(op), [inputs(op, seed=i) for i in range(3)]

    def loss(first, *rest):
        return as_tuple(target(op)(first, *rest, **attrs))[0].square().sum()
    stacked = [torch.stack(tensors) for tensors in zip(*samples)]
    gradients = torch.vmap(torch.func.grad(loss))(*stacked)
    for gradient, (first, *rest) in zip(gradients, samples):
        first.requires_grad_()
        torch.testing.assert_close(gradient, torch.autograd.grad(loss(first, *rest), first)[0])


@each_pair
def test_activation_checkpointing_gives_the_same_bits(pair):
    op = pair[0]
    function, leaves = differentiable(op, inputs(op), attributes(op))
    checkpointed = torch.utils.checkpoint.checkpoint(function, *leaves, use_reentrant=False)
    for a, b in zip(torch.autograd.grad(checkpointed.sum(), leaves),
                    torch.autograd.grad(function(*leaves).sum(), leaves)):
        assert torch.equal(a, b)


@each_pair
def test_forward_mode_is_refused(pair):
    op = pair[0]
    function, leaves = differentiable(op, inputs(op), attributes(op))
    values = tuple(t.detach() for t in leaves)
    with pytest.raises(NotImplementedError, match="no forward-mode derivatives"):
        torch.func.jvp(function, values, values)
    with pytest.raises(NotImplementedError, match="no forward-mode derivatives"):
        torch.func.hessian(lambda *v: function(*v).square().sum())(*values)


@each_pair
def test_what_has_no_gradient_is_refused(pair):
    op, back = pair
    tensors, attrs = inputs(op, dtype=torch.float64), attributes(op)
    names = {o.name for o in back.outputs}
    for i, info in enumerate(op.inputs):
        if info.is_data and f"diff_{info.name}" not in names:
            wrong = list(tensors)
            wrong[i] = wrong[i].clone().requires_grad_()
            with pytest.raises(NotImplementedError, match=f"{op.name}: has no gradient for {info.name}"):
                target(op)(*wrong, **attrs)
    tensors[0].requires_grad_()
    for attr in op.attrs:
        if attr.role == table.CONSTANT and attr.name not in back.attr_names:
            with pytest.raises(NotImplementedError, match=f"attribute {attr.name} other than"):
                target(op)(*tensors, **{**attrs, attr.name: 0.75})


# ---- a forward of PyTorch's for each backward, so that pairing is tested with any table -------------

def _prelu(src, slope, data_format="NXC"):
    back = table.OPERATORS["prelu_backward"]
    shape = shapes.param_shape(back, {"data_format": data_format}, slope.shape, src.dim())
    return torch.where(src > 0, src, src * slope.reshape(shape))


# name: schema, inputs by the names of the backward's, what it computes
STAND_INS = {
    "relu": ("(Tensor src) -> Tensor", ("src",), torch.relu),
    "sigmoid": ("(Tensor src) -> Tensor", ("src",), torch.sigmoid),
    "hard_sigmoid": ("(Tensor src, *, float alpha, float beta) -> Tensor", ("src",),
                     lambda src, alpha, beta: (alpha * src + beta).clamp(0, 1)),
    "prelu": ("(Tensor src, Tensor slope, *, str data_format='NXC') -> Tensor", ("src", "slope"), _prelu),
    "softmax": ("(Tensor src, *, int axis=1) -> Tensor", ("src",),
                lambda src, axis=1: torch.softmax(src, axis)),
}


@pytest.fixture(scope="module", params=STAND_INS)
def stand_in(request):
    schema, names, function = STAND_INS[request.param]
    back = table.OPERATORS[f"{request.param}_backward"]
    data = table.Tensor("src", table.SAME, table.DATA, 0)
    tensors = {t.name: t for t in back.inputs} | {"src": data}
    attrs = tuple(a for a in back.attrs if a.name != "use_dst")
    op = table.Operator(f"{request.param}_stand_in", "", tuple(tensors[n] for n in names),
                        (dataclasses.replace(data, name="dst"),), attrs)
    library = torch.library.Library("vjp", "FRAGMENT")
    library.define(op.name + schema)
    library.impl(op.name, function, "CPU")
    torch.library.register_fake(f"vjp::{op.name}", shapes.fake(op), lib=library)
    library.impl(op.name, autograd.kernel(op, back), "Autograd", with_keyset=True)
    yield op, function
    library._destroy()


def test_stand_in_forwards_are_differentiated_by_the_backward(stand_in):
    op, function = stand_in
    attrs = attributes(op)
    leaves = [t.requires_grad_() for t in inputs(op, dtype=torch.float64)]
    run = lambda *tensors: target(op)(*tensors, **attrs)
    assert torch.autograd.gradcheck(run, leaves)
    assert torch.autograd.gradgradcheck(run, leaves)
    torch.library.opcheck(target(op), leaves, attrs)


def test_the_second_derivative_does_not_count_a_path_twice(stand_in):
    """Here diff_dst depends on dst."""
    op, function = stand_in
    attrs = attributes(op)
    leaves = [t.requires_grad_() for t in inputs(op, dtype=torch.float64)]

    def second_order(run):
        first = torch.autograd.grad(run(*leaves, **attrs).pow(3).sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), leaves)
    for a, b in zip(second_order(target(op)), second_order(function)):
        torch.testing.assert_close(a, b)


def test_sigmoid_keeps_its_input():
    """dst has no digits left where sigmoid is flat; src has."""
    pair = autograd.Pair(dataclasses.replace(
        table.OPERATORS["sigmoid_backward"], name="sigmoid",
        inputs=(table.Tensor("src", table.SAME, table.DATA, 0),),
        outputs=(table.Tensor("dst", table.SAME, table.DATA, 0),), attrs=()),
        table.OPERATORS["sigmoid_backward"])
    assert (autograd.INPUT, 0) in pair.sources and not pair.fixed.get("use_dst")


def test_a_backward_called_inside_a_dual_level_is_not_refused(stand_in):
    op, _ = stand_in
    attrs = attributes(op)
    leaves = [t.requires_grad_() for t in inputs(op)]
    with torch.autograd.forward_ad.dual_level():
        gradients = torch.autograd.grad(target(op)(*leaves, **attrs).sum(), leaves)
    assert all(g is not None for g in gradients)
