# SPDX-License-Identifier: Apache-2.0
"""The small GPT of examples/python learns in a few steps; the gradient of the docs is right."""
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/python/gpt.py"


def output(*options):
    run = subprocess.run([sys.executable, str(EXAMPLE), "--steps", "4", *options], check=True,
                         capture_output=True, text=True)
    assert re.search(r"[0-9.]+ ms per step, [0-9]+ tokens/s, [0-9]+ MiB", run.stdout)
    return run.stdout


def loss(text):
    """Of the last step."""
    return float(re.search(r"-> ([0-9.]+)", text)[1])


def test_the_small_gpt_learns_the_same_with_and_without_vjp():
    expected = loss(output("--deterministic"))
    ours, replaced = output("--activations", "vjp"), output("--enable")
    assert abs(loss(ours) - expected) < 1e-3 and abs(loss(replaced) - expected) < 1e-3
    assert "gelu_backward: " in replaced
    assert re.search("bits.* equal: softmax, gelu, cross_entropy, rms_norm", ours)


def test_the_small_gpt_learns_on_two_processes():
    assert loss(output("--activations", "vjp", "--ddp", "2")) < 5.5


def test_the_gradient_of_the_docs():
    example = Path(__file__).parents[3] / "examples/gradient/sigmoid_torch.py"
    run = subprocess.run([sys.executable, str(example)], check=True, capture_output=True, text=True)
    assert run.stdout == "1.96612 5 3.14981\n"
