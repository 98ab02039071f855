# SPDX-License-Identifier: Apache-2.0
"""The operators on a GPU: on PyTorch's current stream, in its graphs, with its memory."""
import pytest
import torch
import vjp.torch
from problems import DTYPES, OPERATORS, as_tuple, attributes, inputs, name_of, outputs_like, same, target
from vjp.torch import table

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
each_operator = pytest.mark.parametrize("op", OPERATORS, ids=name_of)


def on_gpu(tensors):
    return [t if t is None else t.cuda() for t in tensors]


def assert_close_to_the_cpu(a, b):
    """The sums of a row are made in another order; where terms cancel, of the largest result."""
    largest = max([1, *b[b.isfinite()].abs().flatten().tolist()])
    relative = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}
    rtol = relative.get(b.dtype, 0)
    torch.testing.assert_close(a, b, rtol=rtol, atol=min(rtol, 1e-6) * largest, equal_nan=True)


@each_operator
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_results_are_those_of_the_cpu(op, dtype):
    tensors, attrs = inputs(op, shape=(70, 300), dtype=dtype), attributes(op)
    for output, a, b in zip(op.outputs, as_tuple(target(op)(*on_gpu(tensors), **attrs)),
                            as_tuple(target(op)(*tensors, **attrs))):
        assert a.is_cuda
        if op.axis is None and not output.flags & table.SUM:
            assert same(a.cpu(), b)
        assert_close_to_the_cpu(a.cpu(), b)


@each_operator
def test_the_current_stream_is_used(op):
    """The input is written on a stream that is still busy when the operator is called."""
    tensors, attrs = inputs(op, shape=(512, 1024)), attributes(op)
    expected = as_tuple(target(op)(*on_gpu(tensors), **attrs))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = [t if t is None else torch.zeros_like(t, device="cuda") for t in tensors]
        sources = on_gpu(tensors)
        torch.cuda._sleep(50_000_000)
        for a, b in zip(late, sources):
            if a is not None:
                a.copy_(b, non_blocking=True)
        results = as_tuple(target(op)(*late, **attrs))
        assert not stream.query() # nothing waited
    stream.synchronize()
    assert all(same(a, b) for a, b in zip(results, expected))


@each_operator
def test_graphs(op):
    tensors, attrs = on_gpu(inputs(op, shape=(64, 5000))), attributes(op)
    expected = as_tuple(target(op)(*tensors, **attrs))
    results = outputs_like(op, expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh = as_tuple(target(op)(*tensors, **attrs))
        target(op, "_out")(*tensors, **attrs, **results)
    for t in (*fresh, *results.values()):
        t.zero_()
    graph.replay()
    torch.cuda.synchronize()
    for a, b, c in zip(expected, fresh, results.values()):
        assert same(a, b) and same(a, c)


@each_operator
def test_opcheck(op):
    torch.library.opcheck(target(op), on_gpu(inputs(op)), attributes(op))


def test_tensors_of_two_devices_are_refused():
    for op in OPERATORS:
        tensors = inputs(op)
        tensors[0] = tensors[0].cuda()
        if len(tensors) > 1:
            with pytest.raises(RuntimeError, match="is on another device than"):
                target(op)(*tensors, **attributes(op))


def test_enable():
    x = torch.randn(64, 100, device="cuda", requires_grad=True)
    half = torch.randn(4, 8, device="cuda", dtype=torch.float16, requires_grad=True)

    def gradients():
        y = torch.softmax(torch.nn.functional.hardsigmoid(torch.sigmoid(x.relu())), -1).square().sum()
        z = torch.softmax(half, -1, dtype=torch.float32).square().sum()
        return torch.autograd.grad(y + z, (x, half))
    own = gradients()
    before = vjp.torch.report()
    with vjp.torch.enabled():
        ours = gradients()
    for a, b in zip(ours, own):
        torch.testing.assert_close(a, b)
    after = vjp.torch.report()
    for name in ("threshold_backward", "sigmoid_backward", "hardsigmoid_backward",
                 "_softmax_backward_data"):
        assert after[name].taken > before[name].taken
    # float32 from float16: PyTorch's softmax does it in one kernel on a GPU
    assert after["_softmax_backward_data"].passed_on > before["_softmax_backward_data"].passed_on


def test_autocast():
    for op in OPERATORS:
        tensors, attrs = on_gpu(inputs(op, dtype=torch.bfloat16)), attributes(op)
        wide = [t.float() if t is not None and t.is_floating_point() else t for t in tensors]
        mixed = [wide[0], *tensors[1:]]
        with torch.autocast("cuda", torch.bfloat16):
            for a, b in zip(as_tuple(target(op)(*mixed, **attrs)), as_tuple(target(op)(*wide, **attrs))):
                torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-2)
