# SPDX-License-Identifier: Apache-2.0
"""The conformance kit: it passes right kernels, and names what is wrong with others."""

import subprocess
import sys

import numpy as np
import pytest

import kit
import vjp


def ours(attributes, src, diff_dst):
    return {"diff_src": vjp.silu_backward(src, diff_dst, **attributes)}


def check(kernel, **options):
    """What kit.check returns and prints."""
    lines = []
    wrong = kit.check({"silu_backward": kernel}, show=lines.append, **options)
    return wrong, "\n".join(lines)


def with_one(change):
    """Our kernel with one element of one case changed: one of ordinary size."""
    def kernel(attributes, src, diff_dst):
        result = ours(attributes, src, diff_dst)["diff_src"].copy()
        if src.dtype == np.float32 and src.shape == (3, 130) and not attributes:
            result[0, 52] = change(result[0, 52])
        return {"diff_src": result}
    return kernel


def test_our_kernel_passes():
    wrong, text = check(ours)
    assert wrong == 0 and text.count("0 of ") == 4 and "not served" not in text


@pytest.mark.parametrize("change, fault", [
    (lambda x: np.float32(0), "1 lost"), (lambda x: -x, "1 wrong sign"),
    (lambda x: np.float32(np.nan), "1 not finite"),
    (lambda x: x * np.float32(1 + 2**-20), "1 imprecise")])
def test_one_wrong_element_is_found_and_named(change, fault):
    wrong, text = check(with_one(change))
    assert wrong == 1 and fault in text and "-f32-rows [0, 52]: src = " in text


def test_ulps_allow_a_distance():
    kernel = with_one(lambda x: x * np.float32(1 + 2**-20))
    assert check(kernel, ulps=32)[0] == 0
    assert check(kernel, ulps=2)[0] == 1


def test_only_and_finite_leave_elements_out():
    kernel = with_one(lambda x: np.float32(0))
    assert check(kernel, only="turns")[0] == 0
    everything, finite = check(kernel)[1], check(kernel, finite=True)[1]
    assert finite != everything and check(kernel, finite=True)[0] == 1


def test_a_zero_of_the_wrong_sign_is_found():
    def kernel(attributes, src, diff_dst):
        result = ours(attributes, src, diff_dst)["diff_src"]
        return {"diff_src": np.where(result == 0, result.dtype.type(0), result)}
    wrong, text = check(kernel)
    assert wrong > 0 and f"{wrong} zero of the wrong sign" not in text.split("\n")[0]
    assert "zero of the wrong sign" in text and check(kernel, ulps=1)[0] == 0


def test_what_is_not_served_is_counted_and_a_wrong_shape_refused():
    wrong, text = check(lambda attributes, **inputs: None)
    cases = len(kit.read(kit.VECTORS / "silu_backward.safetensors"))
    assert wrong == 0 and text == f"{cases} cases are not served"
    with pytest.raises(ValueError, match=r"0-f64-values/diff_src: \(1,\), not"):
        check(lambda attributes, src, diff_dst: {"diff_src": src[:1]})


def test_the_example_runner_fails():
    runner = kit.VECTORS.parent / "kit" / "runner.py"
    said = subprocess.run([sys.executable, runner], capture_output=True, text=True)
    assert said.returncode == 1
    assert " lost" in said.stdout and "     0 of " in said.stdout  # SiLU fails, ReLU passes
