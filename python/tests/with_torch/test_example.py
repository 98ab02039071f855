# SPDX-License-Identifier: Apache-2.0
"""The small GPT of examples/python learns in a few steps."""
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/python/gpt.py"


def test_the_small_gpt_trains():
    run = subprocess.run([sys.executable, str(EXAMPLE), "--enable", "--steps", "4"], check=True,
                         capture_output=True, text=True)
    assert "loss" in run.stdout
