# SPDX-License-Identifier: Apache-2.0
"""The plain functions on PyTorch's tensors."""

import numpy as np
import pytest
import torch

import vjp
from support import FLOATS, as_tuple, call, problem, same

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def tensor(array):
    if array.dtype == FLOATS["bf16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(result):
    if result.dtype == torch.bfloat16:
        return result.view(torch.int16).numpy().view(FLOATS["bf16"])
    return result.numpy()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", vjp.operators)
def test_same_bits_as_numpy(name, dtype):
    inputs, attrs = problem(name, (4, 6, 5), dtype, optional=True)
    tensors = {key: tensor(value) for key, value in inputs.items()}
    for a, b in zip(as_tuple(call(name, tensors, attrs)), as_tuple(call(name, inputs, attrs))):
        assert type(a) is torch.Tensor and same(array(a), b)


def test_memory_format_is_kept():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    result = vjp.relu_backward(x, torch.ones_like(x))
    assert result.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(result, (x > 0).float())


def test_views_out_and_parameters():
    x = torch.randn(8, 6)
    out = torch.zeros(6, 8).T[::2]
    assert vjp.relu_backward(x[::2], x[1::2], out=out) is out
    assert torch.equal(out, torch.where(x[::2] > 0, x[1::2], 0))
    parameter = torch.nn.Parameter(x)
    result = vjp.relu_backward(parameter, x)
    assert type(result) is torch.Tensor and not result.requires_grad


def test_refusals():
    x = torch.ones(3)
    with pytest.raises(TypeError, match="src: dtype torch.int8 is not one of"):
        vjp.relu_backward(x.to(torch.int8), x)
    with pytest.raises(ValueError, match="diff_dst: dim 0 is 2, src has 3"):
        vjp.relu_backward(x, x[:2])
    with pytest.raises(RuntimeError, match="meta"):  # PyTorch's own
        vjp.relu_backward(x.to("meta"), x.to("meta"))


def test_mixed_libraries_take_after_the_first():
    x = torch.ones(3)
    assert type(vjp.relu_backward(x, np.ones(3, np.float32))) is torch.Tensor
    assert type(vjp.relu_backward(np.ones(3, np.float32), x)) is np.ndarray
