# SPDX-License-Identifier: Apache-2.0
"""On an NVIDIA GPU: the plain functions with PyTorch and CuPy, and vjp.jax. Skipped without one."""

import numpy as np
import pytest

import vjp
from support import FLOATS, TABLE, as_tuple, call, difference, problem

every_operator = pytest.mark.parametrize("name", vjp.operators)
every_dtype = pytest.mark.parametrize("dtype", FLOATS)


def bfloat16_bits(array):
    return array.view(np.int16) if array.dtype == FLOATS["bf16"] else array


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("no GPU")
    return library


def to_torch(torch, array):
    tensor = torch.from_numpy(bfloat16_bits(array)).cuda()
    return tensor.view(torch.bfloat16) if array.dtype == FLOATS["bf16"] else tensor


def from_torch(torch, tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(FLOATS["bf16"])
    return tensor.cpu().numpy()


@every_dtype
@every_operator
def test_torch_gives_the_results_of_the_cpu(torch, name, dtype):
    for shape in ((4, 6, 5), (300, 1000)):
        inputs, attrs = problem(name, shape, dtype, optional=True)
        tensors = {key: to_torch(torch, value) for key, value in inputs.items()}
        for a, b in zip(as_tuple(call(name, tensors, attrs)), as_tuple(call(name, inputs, attrs))):
            assert a.is_cuda and not difference(from_torch(torch, a), b, name)


def test_torch_strides_and_out(torch):
    x, g = torch.randn(2, 64, 48, device="cuda")
    out = torch.zeros(48, 64, device="cuda").T
    assert vjp.relu_backward(x[::2], g[::2], out=out[::2]) is not None
    assert torch.equal(out[::2], torch.where(x[::2] > 0, g[::2], 0))


def test_torch_s_current_stream_is_used(torch):
    """The stream is kept busy before the input is written: work on another would come too early."""
    x = torch.zeros(1 << 16, device="cuda")
    vjp.relu_backward(x, x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.fill_(1)
        result = vjp.relu_backward(x, x)
    stream.synchronize()
    assert bool((result == 1).all())


def test_torch_cuda_graph(torch):
    x, g, out = torch.ones(3, 1000, device="cuda")
    vjp.relu_backward(x, g, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        vjp.relu_backward(x, g, out=out)
    g.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert bool((out == 5).all())


def test_devices_may_not_be_mixed(torch):
    x = torch.ones(3)
    with pytest.raises(ValueError, match="diff_dst: is on cuda:0, src is on the CPU"):
        vjp.relu_backward(x, x.cuda())
    with pytest.raises(ValueError, match="diff_src: is on the CPU, src is on cuda:0"):
        vjp.relu_backward(x.cuda(), x.cuda(), out=x)


# ---- CuPy ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cupy():
    library = pytest.importorskip("cupy")
    try:
        library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        pytest.skip("no GPU")
    return library


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
@every_operator
def test_cupy_gives_the_results_of_the_cpu(cupy, name, dtype):
    inputs, attrs = problem(name, (300, 1000), dtype, optional=True)
    arrays = {key: cupy.asarray(value) for key, value in inputs.items()}
    for a, b in zip(as_tuple(call(name, arrays, attrs)), as_tuple(call(name, inputs, attrs))):
        assert type(a) is cupy.ndarray and not difference(cupy.asnumpy(a), b, name)


def test_cupy_s_current_stream_is_used(cupy):
    x = cupy.zeros(1 << 16, cupy.float32)
    vjp.relu_backward(x, x)
    busy = cupy.ones((8192, 8192), cupy.float32)
    busy @ busy
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(20):
            busy = busy @ busy
        x.fill(1)
        result = vjp.relu_backward(x, x)
    stream.synchronize()
    assert bool((result == 1).all())


def test_cupy_strides(cupy):
    """No negative ones: CuPy 14.2 passes them on as huge numbers, which are refused."""
    x = cupy.linspace(-1, 1, 96, dtype=cupy.float32).reshape(8, 12)
    result = vjp.relu_backward(x[::2, ::3], x.T.copy().T[::2, ::3])
    assert bool((result == cupy.maximum(x, 0)[::2, ::3]).all())


# ---- JAX -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jax():
    library = pytest.importorskip("jax")
    if library.default_backend() != "gpu":
        pytest.skip("no GPU")
    library.config.update("jax_enable_x64", True)
    return library


@every_dtype
@every_operator
def test_jax_gives_the_results_of_the_cpu(jax, name, dtype):
    from vjp.jax import _calls
    function = _calls.functions(TABLE.values())[name]  # jax.nn has other parameters for some
    for shape in ((4, 6, 5), (300, 1000)):
        inputs, attrs = problem(name, shape, dtype, optional=True)
        expected = as_tuple(call(name, inputs, attrs))
        run = jax.jit(lambda i: function(**i, **attrs))
        for a, b in zip(as_tuple(run(inputs)), expected):
            assert not difference(np.asarray(a), b, name)


def test_jax_gradients_under_vmap(jax):
    import vjp.jax
    x = jax.numpy.linspace(-3, 3, 4096).reshape(64, 64)
    weights = jax.numpy.cos(x)

    def gradient(softmax):
        return jax.jit(jax.vmap(jax.grad(lambda x, w: (softmax(x) * w).sum())))(x, weights)

    assert np.allclose(gradient(vjp.jax.softmax), gradient(jax.nn.softmax), atol=1e-12)


def test_jax_in_a_loop_keeps_the_order_of_work(jax):
    import vjp.jax
    x = jax.numpy.ones((1024, 1024), "float32")

    @jax.jit
    def f(x):
        return jax.lax.fori_loop(0, 50, lambda _, g: vjp.jax.relu_backward(x, g + 1), x)

    assert bool((f(x) == 51).all())


def test_plain_functions_point_to_vjp_jax(jax):
    x = jax.numpy.ones(3)
    with pytest.raises(TypeError, match="use vjp.jax"):
        vjp.relu_backward(x, x)
