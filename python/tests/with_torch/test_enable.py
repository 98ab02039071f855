# SPDX-License-Identifier: Apache-2.0
"""vjp.torch.enable(): PyTorch's own backward kernels replaced, and restored."""
import threading

import pytest
import torch
import torch.nn.functional as F
import vjp.torch

# Functions of PyTorch's whose gradient comes from one kernel.
ALL_FUNCTIONS = {
    "threshold_backward": [torch.relu, lambda x: F.threshold(x, 0.5, 0.0)],
    "sigmoid_backward": [torch.sigmoid],
    "hardsigmoid_backward": [F.hardsigmoid],
    "_softmax_backward_data": [lambda x: torch.softmax(x, -1), lambda x: torch.softmax(x, 0)],
    "tanh_backward": [torch.tanh],
    "silu_backward": [F.silu],
    "gelu_backward": [F.gelu, lambda x: F.gelu(x, approximate="tanh")],
    "log_sigmoid_backward": [F.logsigmoid],
    "leaky_relu_backward": [F.leaky_relu, lambda x: F.leaky_relu(x, 0.3),
                            lambda x: F.leaky_relu_(x + 0, 0.3)], # in place it keeps the result
    "elu_backward": [F.elu, F.selu, lambda x: F.celu(x, 2.0), lambda x: F.elu(x, -1.5),
                     lambda x: F.elu_(x + 0, 1.5)],
    "hardtanh_backward": [F.hardtanh, F.relu6],
    "softplus_backward": [F.softplus, lambda x: F.softplus(x, 2.0, 30.0)],
    "softshrink_backward": [F.softshrink, lambda x: F.softshrink(x, 1.0)],
    "hardshrink_backward": [F.hardshrink],
    "mish_backward": [F.mish],
    "hardswish_backward": [F.hardswish],
    "glu_backward": [F.glu, lambda x: F.glu(x, 0), lambda x: F.glu(x.T, 0)],
}
FUNCTIONS = {name: functions[0] for name, functions in ALL_FUNCTIONS.items()}
each_kernel = pytest.mark.parametrize("name", FUNCTIONS)
REPLACED = set(vjp.torch.report())


@pytest.fixture(autouse=True)
def disabled_again():
    yield
    vjp.torch.disable()


def gradient(function, x, grad=None):
    x = x.detach().requires_grad_()
    y = function(x)
    return torch.autograd.grad(y, x, torch.linspace(-1, 2, y.numel()).to(y).reshape(y.shape)
                               if grad is None else grad)[0]


def counts(name):
    return vjp.torch.report()[name]


def test_every_replaced_kernel_is_tested_here():
    assert REPLACED == set(FUNCTIONS)


@each_kernel
@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16, torch.float16))
def test_gradients_are_the_librarys_and_close_to_pytorchs(name, dtype):
    x = (torch.linspace(-4, 4, 600) + 0.0003).to(dtype).reshape(20, 30)
    for function in ALL_FUNCTIONS[name]:
        own = gradient(function, x)
        before = counts(name)
        vjp.torch.enable()
        ours = gradient(function, x)
        assert counts(name).taken == before.taken + 1 and counts(name).passed_on == before.passed_on
        # PyTorch rounds more than once in 16 bits
        tolerance = {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(dtype)
        torch.testing.assert_close(ours, own, rtol=tolerance, atol=tolerance)
        vjp.torch.disable()
        assert torch.equal(gradient(function, x), own)
        assert counts(name).taken == before.taken + 1


@each_kernel
def test_one_kernel_can_be_chosen(name):
    with vjp.torch.enabled(name):
        assert {n for n, c in vjp.torch.report().items() if c.enabled} == {name}
    assert not counts(name).enabled
    vjp.torch.enable()
    with vjp.torch.enabled(name): # what was on stays on
        assert all(c.enabled for c in vjp.torch.report().values())
    vjp.torch.disable(name)
    assert {n for n, c in vjp.torch.report().items() if not c.enabled} == {name}


def test_unknown_kernels_are_named():
    with pytest.raises(ValueError, match="tan_backward: not among the kernels"):
        vjp.torch.enable("tan_backward")


def test_same_bits_for_any_number_of_threads():
    """Of the kernels alone: PyTorch's own forward passes may differ where its threads divide the work."""
    aten, threads = torch.ops.aten, torch.get_num_threads()
    grad, saved = torch.randn(900, 1000), torch.rand(900, 1000)
    rest = {"threshold_backward": (saved, 0), "_softmax_backward_data": (saved, 1, saved.dtype),
            "log_sigmoid_backward": (saved, saved), "leaky_relu_backward": (saved, 0.1, False),
            "elu_backward": (1, 1, 1, False, saved), "hardtanh_backward": (saved, -1, 1),
            "softplus_backward": (saved, 1, 20), "softshrink_backward": (saved, 0.5),
            "hardshrink_backward": (saved, 0.5), "glu_backward": (saved.repeat(1, 2), 1)}
    with vjp.torch.enabled():
        for name in REPLACED:
            call = lambda: getattr(aten, name)(grad, *rest.get(name, (saved,)))
            before, results = counts(name).taken, []
            for n in (1, 2, 3):
                torch.set_num_threads(n)
                results.append(call())
            torch.set_num_threads(threads)
            assert counts(name).taken == before + 3
            assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]), name


class Passed:
    """Inside, calls of a kernel are counted as PyTorch's."""
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = counts(self.name)

    def __exit__(self, *error):
        after = counts(self.name)
        assert after.taken == self.before.taken and after.passed_on > self.before.passed_on


def test_what_the_library_does_not_take_is_passed_on():
    vjp.torch.enable()
    with Passed("sigmoid_backward"): # complex numbers
        z = torch.randn(4, dtype=torch.complex64, requires_grad=True)
        torch.sigmoid(z).abs().sum().backward()
    with Passed("sigmoid_backward"): # a gradient of more dims
        expected = torch.diag(torch.sigmoid(torch.arange(5.)) * torch.sigmoid(-torch.arange(5.)))
        torch.testing.assert_close(torch.func.jacrev(torch.sigmoid)(torch.arange(5.)), expected)
    with Passed("_softmax_backward_data"): # no dims
        torch.softmax(torch.tensor(1., requires_grad=True), 0).backward()
    with Passed("softplus_backward"): # a threshold that changes the slope
        gradient(lambda x: F.softplus(x, 1.0, 5.0), torch.randn(9))
    with pytest.raises(RuntimeError, match="gelu_backward failed"): # by PyTorch
        torch.ops.aten.gelu_backward(torch.ones(3), torch.ones(3), approximate="none of these")
    with Passed("mish_backward"): # another dtype beside it
        torch.ops.aten.mish_backward(torch.ones(3, dtype=torch.float64), torch.ones(3))
    with Passed("sigmoid_backward"): # 13 dims
        gradient(torch.sigmoid, torch.randn((1,) * 12 + (3,)))


def test_autograd_on_top_is_pytorchs():
    """Second derivatives, vmap, autocast: they reach the kernels as before."""
    vjp.torch.enable()
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    for name, function in FUNCTIONS.items():
        if name != "hardsigmoid_backward": # of which PyTorch has no second derivative
            assert torch.autograd.gradgradcheck(function, x), name
    per_sample = torch.vmap(torch.func.grad(lambda t: torch.sigmoid(t).square().sum()))(x.detach())
    torch.testing.assert_close(per_sample, torch.autograd.grad(torch.sigmoid(x).square().sum(), x)[0])
    with torch.autocast("cpu", torch.bfloat16):
        torch.sigmoid(torch.nn.Linear(8, 8)(torch.randn(4, 8))).sum().backward()


def test_compiled_eagerly_they_are_used():
    compiled = torch.compile(lambda x: torch.sigmoid(x).square().sum(), backend="aot_eager")
    vjp.torch.enable()
    before = counts("sigmoid_backward").taken
    x = torch.randn(20, requires_grad=True)
    compiled(x).backward()
    assert counts("sigmoid_backward").taken > before


def test_arguments_that_are_not_needed_are_freed():
    """log_sigmoid's buffer, as large as its input on a CPU."""
    x, grad, buffer = torch.ones(9), torch.ones(9), torch.ones(9)
    with vjp.torch.enabled():
        torch.ops.aten.log_sigmoid_backward(grad, x, buffer)
    for tensor in (x, grad, buffer):
        assert tensor._use_count() == 1


def test_switching_while_other_threads_work():
    stop, errors = threading.Event(), []

    def work():
        x = torch.randn(100, 10)
        try:
            while not stop.is_set():
                for function in FUNCTIONS.values():
                    gradient(function, x)
        except Exception as error: # noqa: the main thread reports it
            errors.append(error)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(300):
        (vjp.torch.enable if i % 2 else vjp.torch.disable)()
        stop.wait(0.002)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
