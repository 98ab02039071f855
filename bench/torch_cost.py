#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_cost.py - what a call of vjp costs in PyTorch beside PyTorch's own, for 4096 float32.

One thread, its CPU time, the best of many batches: what is measured is the way to the kernel. The
lines of docs/pytorch.md. Needs vjp and torch installed; operators that the table lacks are left out.
"""
import time

import torch
import vjp.torch
from timing import microseconds
from vjp.torch.table import OPERATORS

aten, ops = torch.ops.aten, torch.ops.vjp


def best(call):
    return microseconds(call, time.thread_time, calls=200, batches=150)


def line(name, own, ours):
    own, ours = best(own), best(ours)
    print(f"| {name} | {own:.1f} | {ours:.1f} | {ours / own:.2f} |")


def enabled(call):
    with vjp.torch.enabled():
        return best(call)


def main():
    torch.set_num_threads(1)
    x, g, out = torch.randn(4096), torch.randn(4096), torch.empty(4096)
    rows, row_gradients = torch.rand(32, 128), torch.randn(32, 128)
    leaf = torch.randn(4096, requires_grad=True)
    print(f"torch {torch.__version__}\n\n| call | PyTorch, us | vjp, us | ratio |\n|---|---|---|---|")
    calls = {"relu_backward": lambda: aten.threshold_backward(g, x, 0),
             "sigmoid_backward": lambda: aten.sigmoid_backward(g, x),
             "softmax_backward, 32 x 128": lambda: aten._softmax_backward_data(row_gradients, rows, 1,
                                                                             torch.float32)}
    line("relu_backward", calls["relu_backward"], lambda: ops.relu_backward(x, g))
    line("relu_backward_out", lambda: aten.threshold_backward.grad_input(g, x, 0, grad_input=out),
         lambda: ops.relu_backward_out(x, g, diff_src=out))
    line("sigmoid_backward", calls["sigmoid_backward"], lambda: ops.sigmoid_backward(x, g, use_dst=True))
    line("softmax_backward, 32 x 128", calls["softmax_backward, 32 x 128"],
         lambda: ops.softmax_backward(row_gradients, rows, axis=1))
    if "relu" in OPERATORS:
        line("relu, no gradient recorded", lambda: torch.relu(x), lambda: ops.relu(x))
        line("relu, forward and backward", lambda: torch.autograd.grad(torch.relu(leaf), leaf, g),
             lambda: torch.autograd.grad(ops.relu(leaf), leaf, g))
    before = {name: best(call) for name, call in calls.items()}
    for name, call in calls.items():
        on, off = enabled(call), best(call)
        print(f"| {name}: enabled / disabled again | {before[name]:.1f} | {on:.1f} / {off:.1f} | "
              f"{on / before[name]:.2f} / {off / before[name]:.2f} |")


if __name__ == "__main__":
    main()
