# SPDX-License-Identifier: Apache-2.0
"""The small GPT of examples/python learns in a few steps."""
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/python/gpt.py"


def loss(*options):
    """What the last of a few steps prints."""
    run = subprocess.run([sys.executable, str(EXAMPLE), "--steps", "4", *options], check=True,
                         capture_output=True, text=True)
    assert "--enable" not in options or "gelu_backward: " in run.stdout
    return float(re.search(r"-> ([0-9.]+)", run.stdout)[1])


def test_the_small_gpt_learns_the_same_with_and_without_vjp():
    expected = loss()
    for options in (("--activations", "vjp"), ("--enable",)):
        assert abs(loss(*options) - expected) < 1e-3


def test_the_small_gpt_learns_on_two_processes():
    assert loss("--activations", "vjp", "--ddp", "2") < 5.5
