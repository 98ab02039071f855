# SPDX-License-Identifier: Apache-2.0
"""The small GPT of examples/python learns in a few steps."""
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/python/gpt_jax.py"


def losses(activations):
    """Of the first and the last of a few steps, as printed."""
    run = subprocess.run([sys.executable, str(EXAMPLE), "--steps", "8", "--activations", activations],
                         check=True, capture_output=True, text=True)
    assert re.search(r"[0-9.]+ ms per step, [0-9]+ tokens/s", run.stdout)
    return [float(number) for number in re.search(r"loss ([0-9.]+) -> ([0-9.]+),", run.stdout).groups()]


def test_the_small_gpt_learns_the_same_with_and_without_vjp():
    first, last = losses("vjp")
    expected_first, expected_last = losses("jax")
    assert abs(first - expected_first) < 1e-3 and abs(last - expected_last) < 1e-3
    assert last < first - 0.2
