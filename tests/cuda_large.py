#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of more than 2^31 elements on a GPU, against PyTorch, piece by piece, to the last element.

    tests/cuda_large.py build/release/libvjp.so

`vjp check --device cuda --large` does the same without PyTorch, at the pace of the host. Needs some
20 GB of the GPU's memory.
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "peers"))
from vjp_ctypes import Vjp

PIECE = 1 << 26
failed = 0


def report(name, good):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAILED'}: {name}", flush=True)


def same(name, result, expected, rows, tolerance=0.0):
    """Compare piece by piece; expected(begin, end) computes rows in f32 or better."""
    good = True
    step = max(1, PIECE // (result[0].numel() if result.dim() > 1 else 1))
    for begin in range(0, rows, step):
        end = min(begin + step, rows)
        got, want = result[begin:end].double(), expected(begin, end).to(result.dtype).double()
        good = good and bool(((got - want).abs() <= tolerance).all())
    report(name, good)


def main():
    vjp = Vjp(sys.argv[1], "cuda")
    new = dict(device="cuda", dtype=torch.bfloat16)

    n = 2**31 + 7
    x, dy, dx = torch.randn(n, **new), torch.randn(n, **new), torch.full((n,), 7.0, **new)
    vjp.plan("relu_backward", {}, [x, dy], [dx])()
    same("relu_backward of 2^31 + 7", dx, lambda a, b: torch.where(x[a:b] > 0, dy[a:b], 0), n)

    rows, columns = 2**31 // 4096 + 1, 4096
    del x, dy, dx
    x, dy = torch.randn(rows, columns, **new), torch.randn(rows, columns, **new)
    dx, w, dw = torch.empty_like(x), torch.randn(columns, **new), torch.empty(columns, **new)
    vjp.plan("prelu_backward", {}, [x, w, dy], [dx, dw])()
    same("prelu_backward of 2^31 + 4096: diff_src", dx,
         lambda a, b: torch.where(x[a:b] > 0, dy[a:b].float(), dy[a:b].float() * w.float()), rows)
    total = torch.zeros(columns, device="cuda", dtype=torch.float64)
    for a in range(0, rows, 16384):
        part = slice(a, a + 16384)
        total += torch.where(x[part] > 0, 0, dy[part].double() * x[part].double()).sum(0)
    report("prelu_backward of 2^31 + 4096: diff_slope",
           bool(torch.allclose(dw.double(), total, rtol=2**-8, atol=1e-3)))

    y = torch.rand(rows, columns, **new) / columns
    vjp.plan("softmax_backward", {"axis": 1}, [dy, y], [dx])()

    def softmax(a, b):
        g, p = dy[a:b].double(), y[a:b].double()
        return p * (g - (g * p).sum(1, keepdim=True))
    same("softmax_backward of 2^31 + 4096", dx, softmax, rows, tolerance=2**-18)
    print(f"{4 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main() > 0)
