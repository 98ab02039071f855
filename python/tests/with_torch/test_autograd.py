# SPDX-License-Identifier: Apache-2.0
"""Gradients of every operator `name` that has a `name_backward`."""
import pytest
import torch
import torch.utils.checkpoint
from problems import OPERATORS, PAIRS, as_tuple, attributes, inputs, name_of, target, with_gradients
from vjp.torch import autograd, second, table

each_pair = pytest.mark.parametrize("pair", PAIRS, ids=name_of)


def differentiable(op, tensors, attrs):
    """The operator as a function of the inputs that have a gradient, and those inputs."""
    back = table.OPERATORS[f"{op.name}_backward"]
    chosen = [i for i in with_gradients(op, back) if tensors[i] is not None]

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
    for i in with_gradients(*pair):
        tensors[i].requires_grad_()
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


@pytest.mark.parametrize("op", [op for op in OPERATORS if op not in [pair[0] for pair in PAIRS]], ids=name_of)
def test_derivatives_of_what_has_none_are_refused(op):
    """In forward mode at once, in reverse mode when it is requested."""
    tensors, attrs = inputs(op), attributes(op)
    function = lambda first: as_tuple(target(op)(first, *tensors[1:], **attrs))[0]
    with pytest.raises(NotImplementedError, match=f"{op.name}: .* no forward-mode derivatives"):
        torch.func.jvp(function, (tensors[0],), (tensors[0],))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(tensors[0], tensors[0])
        with pytest.raises(NotImplementedError, match=f"{op.name}: .* no forward-mode derivatives"):
            function(dual)
        function(tensors[0])
    result = function(tensors[0].clone().requires_grad_())
    with pytest.raises(NotImplementedError, match=f"{op.name}: vjp has no derivative of this operator"):
        result.sum().backward()
    with pytest.raises(NotImplementedError, match=f"{op.name}: vjp has no derivative of this operator"):
        torch.func.grad(lambda x: function(x).sum())(tensors[0])


@each_pair
def test_what_has_no_gradient_is_refused(pair):
    op, back = pair
    tensors, attrs = inputs(op, dtype=torch.float64), attributes(op)
    for i, info in enumerate(op.inputs):
        if info.is_data and i not in with_gradients(op, back):
            wrong = list(tensors)
            wrong[i] = wrong[i].clone().requires_grad_()
            with pytest.raises(NotImplementedError, match=f"{op.name}: has no gradient for {info.name}"):
                target(op)(*wrong, **attrs)
    tensors[0].requires_grad_()
    for attr in op.attrs:
        if attr.role == table.CONSTANT and attr.name not in back.attr_names:
            with pytest.raises(NotImplementedError, match=f"attribute {attr.name} other than"):
                target(op)(*tensors, **{**attrs, attr.name: 0.75})


def test_the_second_derivative_does_not_count_a_path_twice():
    """Here diff_dst depends on dst."""
    formulas = {"softmax": lambda a, x: torch.softmax(x, -1), **second._FORWARDS}
    for op, _ in PAIRS:
        if op.name not in formulas or any(t.shape_rule != table.DATA and not t.is_optional for t in op.inputs):
            continue
        attrs = attributes(op)
        leaves = [t.requires_grad_() for t in inputs(op, dtype=torch.float64, optional=False) if t is not None]

        def second_order(run):
            first = torch.autograd.grad(run(*leaves).pow(3).sum(), leaves, create_graph=True)
            return torch.autograd.grad(sum(g.square().sum() for g in first), leaves)
        for a, b in zip(second_order(lambda *t: as_tuple(target(op)(*t, **attrs))[0]),
                        second_order(lambda *t: formulas[op.name](op.settings(attrs), *t))):
            torch.testing.assert_close(a, b, msg=lambda text: f"{op.name}: {text}")


def test_second_derivatives_of_a_causal_log_softmax():
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    for axis in (-1, 0):
        run = lambda x: torch.ops.vjp.log_softmax(x, axis=axis, causal=True, scale=1.5)[0]
        assert torch.autograd.gradgradcheck(run, x)


def test_sigmoid_keeps_its_input():
    """dst has no digits left where sigmoid is flat; src has."""
    pair = autograd.Pair(table.OPERATORS["sigmoid"], table.OPERATORS["sigmoid_backward"])
    assert (autograd.INPUT, 0) in pair.sources and not pair.fixed.get("use_dst")
    x = torch.tensor([20.0, 80.0], requires_grad=True)
    gradient, = torch.autograd.grad(torch.ops.vjp.sigmoid(x).sum(), x)
    torch.testing.assert_close(gradient, torch.exp(-x.detach()), rtol=1e-6, atol=0)


@each_pair
def test_a_backward_called_inside_a_dual_level_is_not_refused(pair):
    function, leaves = differentiable(pair[0], inputs(pair[0]), attributes(pair[0]))
    with torch.autograd.forward_ad.dual_level():
        gradients = torch.autograd.grad(function(*leaves).sum(), leaves)
    assert all(g is not None for g in gradients)
