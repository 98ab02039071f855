# SPDX-License-Identifier: Apache-2.0
"""vjp.torch.functional and vjp.torch.nn: drop-in for PyTorch's."""
import inspect

import pytest
import torch
import torch.nn.functional as F
from vjp.torch import functional, nn

# Calls with other arguments than the defaults, after the input.
CALLS = {
    "gelu": [{}, {"approximate": "tanh"}],
    "leaky_relu": [{}, {"negative_slope": 0.2}],
    "hardtanh": [{}, {"min_val": -0.5, "max_val": 2.0}],
    "threshold": [{"threshold": 0.25, "value": -1.0}],
    "softshrink": [{}, {"lambd": 0.25}],
    "hardshrink": [{}, {"lambd": 0.25}],
    "softplus": [{}, {"beta": 2.0}, {"threshold": 5.0}],
    "elu": [{}, {"alpha": 0.5}],
    "celu": [{}, {"alpha": 0.5}],
    "glu": [{}, {"dim": 0}],
    "softmax": [{"dim": 0}, {"dim": -1}, {"dim": 1, "dtype": torch.float64}],
    "log_softmax": [{"dim": 0}, {"dim": -1}, {"dim": 1, "dtype": torch.float64}],
    "rms_norm": [{"normalized_shape": (4,)}, {"normalized_shape": (8, 4), "eps": 0.1},
                 {"normalized_shape": (4,), "weight": torch.linspace(-0.5, 1.5, 4)},
                 {"normalized_shape": (8, 4), "weight": torch.linspace(-1, 2, 32).reshape(8, 4)}],
    "layer_norm": [{"normalized_shape": (4,)}, {"normalized_shape": (8, 4), "eps": 0.1},
                   {"normalized_shape": (4,), "weight": torch.linspace(-0.5, 1.5, 4)},
                   {"normalized_shape": (4,), "bias": torch.linspace(-0.5, 1.5, 4)},
                   {"normalized_shape": (8, 4), "weight": torch.linspace(-1, 2, 32).reshape(8, 4),
                    "bias": torch.linspace(2, -1, 32).reshape(8, 4)}],
    "prelu": [{"weight": torch.tensor([0.25])}, {"weight": torch.linspace(-0.5, 0.5, 8)}],
}
GATED = {"swiglu": lambda gate, up: F.silu(gate) * up, "geglu": lambda gate, up: F.gelu(gate) * up,
         "reglu": lambda gate, up: F.relu(gate) * up}
OWN = [name for name in functional.__all__ if name not in GATED and name != "cross_entropy"]
# PyTorch's softplus leaves out what is below 2e-9; in bfloat16 some of its functions round several times.
TOLERANCES = {("softplus", torch.float64): {"rtol": 1e-8, "atol": 1e-8}}
TOLERANCES |= {(name, torch.bfloat16): {"rtol": 2e-2, "atol": 2e-2} for name in OWN}
each_function = pytest.mark.parametrize("name", OWN)


def torch_function(name):
    return getattr(F, name)


def values(dtype=torch.float32):
    """Away from the points where a derivative jumps, which 0.013 n is not."""
    return (torch.arange(-96, 96).reshape(6, 8, 4) * 0.0525 + 0.013).to(dtype)


def values_for(name, dtype):
    """Rows whose mean is not large beside their deviation: else PyTorch's layer_norm has few digits."""
    return (values() * 37).sin().to(dtype) if name == "layer_norm" else values(dtype)


def output_and_gradients(function, x, kwargs):
    leaves = [x.clone().requires_grad_()]
    kwargs = dict(kwargs)
    for name in {"weight", "bias"} & set(kwargs):
        kwargs[name] = kwargs[name].to(x.dtype).requires_grad_()
        leaves.append(kwargs[name])
    output = function(leaves[0], **kwargs)
    grad = torch.linspace(-1, 1, output.numel()).reshape(output.shape).to(output.dtype)
    return output, torch.autograd.grad(output, leaves, grad)


@each_function
@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16), ids=str)
def test_functions_are_pytorchs(name, dtype):
    for kwargs in CALLS.get(name, [{}]):
        x = values_for(name, dtype)
        ours, our_gradients = output_and_gradients(getattr(functional, name), x, kwargs)
        own, own_gradients = output_and_gradients(torch_function(name), x, kwargs)
        tolerance = TOLERANCES.get((name, dtype), {})
        torch.testing.assert_close(ours, own, **tolerance)
        for a, b in zip(our_gradients, own_gradients):
            torch.testing.assert_close(a, b, **tolerance)


@each_function
def test_signatures_are_pytorchs(name):
    try:
        own = inspect.signature(torch_function(name))
    except ValueError:
        return # a builtin without one
    ours = inspect.signature(getattr(functional, name)).parameters
    assert list(ours) == list(own.parameters)
    for parameter in own.parameters.values():
        assert ours[parameter.name].default == parameter.default


@each_function
def test_operators_are_the_librarys(name):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for kwargs in CALLS.get(name, [{}])[:1]:
            output_and_gradients(getattr(functional, name), values(), kwargs)
    called = {event.key for event in profile.key_averages() if event.key.startswith("vjp::")}
    assert any(key.endswith("_backward") for key in called)
    assert len(called) == 2


@each_function
def test_what_the_library_does_not_take_is_pytorchs(name):
    if name in ("sigmoid", "tanh", "silu"):
        z = torch.randn(4, dtype=torch.complex64)
        assert torch.equal(getattr(functional, name)(z), torch_function(name)(z))
    many = values().reshape((1,) * 10 + (6, 8, 4))
    for kwargs in CALLS.get(name, [{}])[:1]:
        if name not in ("glu", "prelu", "gelu"): # the dims differ; PyTorch's gelu takes 12 at most
            assert torch.equal(getattr(functional, name)(many, **kwargs), torch_function(name)(many, **kwargs))


@each_function
def test_in_place(name):
    if "inplace" not in inspect.signature(getattr(functional, name)).parameters:
        return
    kwargs = CALLS.get(name, [{}])[0]

    def in_place(x, **kwargs):
        x = x + 0
        assert getattr(functional, name)(x, inplace=True, **kwargs) is x
        return x
    for a, b in zip(output_and_gradients(in_place, values(), kwargs),
                    output_and_gradients(getattr(functional, name), values(), kwargs)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", GATED)
def test_gated_functions(name):
    gate, up = (values().clone().requires_grad_() for _ in range(2))
    results = []
    for function in (getattr(functional, name), GATED[name]):
        output = function(gate, up)
        results.append((output, *torch.autograd.grad(output.square().sum(), (gate, up))))
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


# ---- modules ----------------------------------------------------------------------------------------

OURS = ("SwiGLU", "GEGLU", "ReGLU")
ARGUMENTS = {"RMSNorm": ((8, 4),), "LayerNorm": ((8, 4),), "LogSoftmax": (1,), "Threshold": (0.25, -1.0), "Softmax": (1,), "PReLU": (8,), "GELU": ("tanh",), "GLU": (0,)}


@pytest.mark.parametrize("name", [n for n in nn.__all__ if n not in ("CrossEntropyLoss", *OURS)])
def test_modules_are_pytorchs(name):
    arguments = ARGUMENTS.get(name, ())
    ours, own = getattr(nn, name)(*arguments), getattr(torch.nn, name)(*arguments)
    assert repr(ours) == repr(own) and list(ours.state_dict()) == list(own.state_dict())
    own.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(values()), own(values()))
    ours.load_state_dict(own.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(ours.state_dict().values(), own.state_dict().values()))


def test_gated_modules():
    gate, up = values(), values().flip(0)
    for module, expected in ((nn.SwiGLU(), F.silu(gate) * up), (nn.GEGLU(), F.gelu(gate) * up),
                             (nn.GEGLU("tanh"), F.gelu(gate, approximate="tanh") * up),
                             (nn.ReGLU(), F.relu(gate) * up)):
        torch.testing.assert_close(module(gate, up), expected)
        assert not module.state_dict()
    assert repr(nn.SwiGLU(1.702, 7.0, 1.0)) == "SwiGLU(alpha=1.702, limit=7.0, bias=1.0)"
    assert repr(nn.GEGLU()) == "GEGLU(approximate='none')"


@pytest.mark.parametrize("name", ("rms_norm", "layer_norm"))
def test_norms_under_transforms(name):
    """Second derivatives, vmap, autocast."""
    ours, own = getattr(functional, name), getattr(F, name)
    x = values(torch.float64)[0].requires_grad_()
    weight = torch.linspace(-0.5, 1.5, 4, dtype=torch.float64).requires_grad_()
    run = lambda x, weight: ours(x, (4,), weight)
    assert torch.autograd.gradcheck(run, (x, weight)) and torch.autograd.gradgradcheck(run, (x, weight))
    gradients = [torch.vmap(torch.func.grad(lambda x: f(x, (4,), weight.detach()).square().sum()))(x.detach())
                 for f in (ours, own)]
    torch.testing.assert_close(*gradients)
    for enabled in (False, True):
        leaf = values_for(name, torch.bfloat16).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            results = [f(leaf, (4,), weight.detach().bfloat16()) for f in (ours, own)]
        assert results[0].dtype == results[1].dtype
        torch.testing.assert_close(*(torch.autograd.grad(y.square().sum(), leaf)[0] for y in results),
                                   rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ("rms_norm", "layer_norm"))
def test_norms_refuse_what_pytorch_refuses(name):
    for arguments in (((5,),), ((4,), torch.ones(8)), ((),)):
        with pytest.raises(RuntimeError) as own:
            getattr(F, name)(values(), *arguments)
        with pytest.raises(RuntimeError) as ours:
            getattr(functional, name)(values(), *arguments)
        assert str(ours.value) == str(own.value)


def test_gradients_of_add_rms_norm():
    """Of both terms, by way of the normalized sum, the sum itself, or both."""
    x, y = values(torch.float64).requires_grad_(), values(torch.float64).cos().requires_grad_()
    weight = torch.linspace(-0.5, 1.5, 4, dtype=torch.float64).requires_grad_()
    for loss in (lambda dst, sum: dst.pow(3).sum(), lambda dst, sum: sum.pow(3).sum(),
                 lambda dst, sum: (dst * sum).sum()):
        ours = loss(*torch.ops.vjp.add_rms_norm(x, y, weight)[:2])
        own = loss(F.rms_norm(x + y, (4,), weight, 1e-5), x + y)
        for a, b in zip(*(torch.autograd.grad(value, (x, y, weight), materialize_grads=True)
                          for value in (ours, own))):
            torch.testing.assert_close(a, b)


def test_the_gradient_of_beta_needs_gamma():
    beta = torch.ones(4, requires_grad=True)
    with pytest.raises(NotImplementedError, match="layer_norm: has no gradient for beta without gamma"):
        torch.ops.vjp.layer_norm(values(), None, beta)


LOSSES = [{}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}, {"ignore_index": 2},
          {"weight": True}, {"weight": True, "ignore_index": 255}, {"weight": True, "label_smoothing": 0.2, "ignore_index": 1}]


@pytest.mark.parametrize("shape", ((5,), (7, 5), (3, 5, 4), (2, 5, 3, 4)), ids=str)
@pytest.mark.parametrize("kwargs", LOSSES, ids=str)
def test_cross_entropy(shape, kwargs):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    rows = shape[:1] * (len(shape) > 1) + shape[2:]
    target = torch.randint(0, 5, rows)
    if kwargs.get("ignore_index") == 255: # which is not a class
        target.reshape(-1)[:1] = 255
    weight = torch.rand(5, dtype=torch.float64) if kwargs.get("weight") else None
    kwargs = {**kwargs, "weight": weight}
    results = []
    for module in (nn.CrossEntropyLoss(**kwargs), torch.nn.CrossEntropyLoss(**kwargs)):
        loss = module(x, target)
        results.append((loss, torch.autograd.grad(loss.sum(), x)[0]))
    for ours, own in zip(*results):
        torch.testing.assert_close(ours, own, equal_nan=True) # the mean of nothing is NaN


def test_cross_entropy_of_probabilities_and_dtypes():
    x, target = torch.randn(6, 5), torch.softmax(torch.randn(6, 5), 1)
    assert torch.equal(functional.cross_entropy(x, target), F.cross_entropy(x, target))
    labels = torch.arange(6) % 5
    half = functional.cross_entropy(x.bfloat16(), labels)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half, F.cross_entropy(x.bfloat16(), labels))
    with torch.autocast("cpu", torch.bfloat16):
        assert functional.cross_entropy(x.bfloat16(), labels).dtype == torch.float32
    ignored = functional.cross_entropy(x, torch.full((6,), -100))
    assert ignored.isnan() # 0 / 0, as PyTorch's
