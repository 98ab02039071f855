# SPDX-License-Identifier: Apache-2.0
"""enable(): PyTorch's own backward kernels replaced by this library's.

Eager mode only: torch.compile's inductor rewrites these operations before any kernel is chosen.
A call that the library does not take (another dtype, a gradient that is broadcast) goes to PyTorch's
own kernel, as every call does while a kernel is switched off. Kernels are registered by the first
enable() and stay: PyTorch reads its dispatch tables without a lock.
"""
import contextlib
import ctypes
import itertools
import threading
from typing import NamedTuple

import torch

_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_ops = torch.ops.vjp


# ---- kernels in Python: what is computed, or None for a call that is not ours -----------------------

def _threshold(grad, x, threshold):
    return _ops.relu_backward(x, grad) if threshold == 0 else \
        _ops.threshold_backward(x, grad, threshold=threshold)


def _leaky_relu(grad, x, slope, is_result):
    return _ops.leaky_relu_backward(x, grad, alpha=slope) # the result has the sign of x


def _elu(grad, alpha, scale, input_scale, is_result, x):
    if is_result and alpha < 0:
        return None
    return _ops.elu_backward(x, grad, alpha=alpha, scale=scale, input_scale=input_scale,
                             use_dst=is_result)


def _hardtanh(grad, x, low, high):
    return _ops.clamp_backward(x, grad, min=low, max=high) if low <= high else None


def _softplus(grad, x, beta, threshold):
    """PyTorch's slope is 1 above the threshold: to float32's precision the same from 20 on."""
    return _ops.softplus_backward(x, grad, beta=beta) if threshold >= 20 and beta != 0 else None


def _softshrink(grad, x, lambd):
    return _ops.soft_shrink_backward(x, grad, lambd=lambd) if lambd >= 0 else None


def _hardshrink(grad, x, lambd):
    return _ops.hard_shrink_backward(x, grad, lambd=lambd) if lambd >= 0 else None


def _mish(grad, x):
    return _ops.mish_backward(x, grad)


def _hardswish(grad, x):
    return _ops.hard_swish_backward(x, grad)


def _glu(grad, packed, dim):
    result = torch.empty_like(packed)
    (up, gate), (diff_up, diff_gate) = packed.chunk(2, dim), result.chunk(2, dim)
    _ops.glu_backward_out(gate, up, grad, diff_gate=diff_gate, diff_up=diff_up)
    return result


def _are_alike(grad, saved, *rest):
    return grad.shape == saved.shape


def _is_half(grad, packed, dim):
    return packed.dim() > 0 and packed.shape[dim] == 2 * grad.shape[dim] \
        and grad.shape == packed.narrow(dim, 0, grad.shape[dim]).shape


# name in aten: the kernel, where the saved tensor is, and whether the shapes are ours.
_IN_PYTHON = {
    "threshold_backward": (_threshold, 1, _are_alike),
    "leaky_relu_backward": (_leaky_relu, 1, _are_alike),
    "elu_backward": (_elu, 5, _are_alike),
    "hardtanh_backward": (_hardtanh, 1, _are_alike),
    "softplus_backward": (_softplus, 1, _are_alike),
    "softshrink_backward": (_softshrink, 1, _are_alike),
    "hardshrink_backward": (_hardshrink, 1, _are_alike),
    "mish_backward": (_mish, 1, _are_alike),
    "hardswish_backward": (_hardswish, 1, _are_alike),
    "glu_backward": (_glu, 1, _is_half),
}


# ---- switches ---------------------------------------------------------------------------------------

class Counts(NamedTuple):
    """What report() says about a kernel of PyTorch's."""
    enabled: bool
    taken: int      # calls that this library computed
    passed_on: int  # calls that PyTorch computed


class _NativeKernel:
    """A kernel of libvjp_torch.so."""

    def __init__(self, library, index):
        self._library, self._index = library, index
        self.enabled = False

    def switch(self, on):
        self._library.vjp_torch_override_switch(self._index, on)
        self.enabled = on

    def counts(self):
        return Counts(self.enabled, self._library.vjp_torch_override_taken(self._index),
                      self._library.vjp_torch_override_passed_on(self._index))


class _PythonKernel:
    """A kernel in Python: for aten operators with a Scalar, which the stable ABI cannot pass, or
    without another overload that reaches PyTorch's own kernel."""

    def __init__(self, call, saved, fits):
        self._call, self._saved, self._fits = call, saved, fits
        self.enabled = False
        self._taken = self._passed_on = 0

    def of_device(self, name, device):
        """The function to register, which keeps PyTorch's own kernel of the device."""
        own = torch.library.get_kernel(f"aten::{name}", device)

        def run(keyset, *args):
            result = self._compute(args) if self.enabled else None
            if result is not None:
                self._taken += 1
                return result
            self._passed_on += 1
            return own.call_boxed(keyset, *args)
        return run

    def _compute(self, args):
        grad, saved = args[0], args[self._saved]
        if (grad.dtype is saved.dtype and saved.dtype in _DTYPES and saved.dim() <= 12
                and self._fits(grad, saved, *args[2:])):
            return self._call(*args)
        return None

    def switch(self, on):
        self.enabled = on

    def counts(self):
        return Counts(self.enabled, self._taken, self._passed_on)


class Switchboard:
    """All kernels that can be replaced, by their names in aten."""

    def __init__(self, library):
        self._library = library
        self._lock = threading.Lock()
        self._registered = []
        for counter in (library.vjp_torch_override_taken, library.vjp_torch_override_passed_on):
            counter.restype = ctypes.c_int64
        library.vjp_torch_override.restype = ctypes.c_char_p
        self.kernels = {}
        for i in itertools.count():
            name = library.vjp_torch_override(i)
            if name is None:
                break
            self.kernels[name.decode()] = _NativeKernel(library, i)
        self.kernels |= {name: _PythonKernel(*parts) for name, parts in _IN_PYTHON.items()}

    def _register(self):
        with self._lock:
            if self._registered:
                return
            for device in ("CPU", "CUDA") if torch.cuda.is_available() else ("CPU",):
                if self._library.vjp_torch_override_register(device.encode()):
                    raise RuntimeError(f"PyTorch refused the kernels for {device}")
                library = torch.library.Library("aten", "IMPL")
                for name, kernel in self.kernels.items():
                    if isinstance(kernel, _PythonKernel):
                        library.impl(name, kernel.of_device(name, device), device, with_keyset=True)
                self._registered.append(library)

    def switch(self, names):
        """Exactly these are on from now on."""
        self._register()
        for name, kernel in self.kernels.items():
            kernel.switch(name in names)

    def on(self):
        return {name for name, kernel in self.kernels.items() if kernel.enabled}

    def chosen(self, ops):
        if ops is None:
            return set(self.kernels)
        ops = {ops} if isinstance(ops, str) else set(ops)
        if unknown := ops - set(self.kernels):
            raise ValueError(f"{', '.join(sorted(unknown))}: not among the kernels that can be "
                             f"replaced: {', '.join(sorted(self.kernels))}")
        return ops


def functions(board):
    """enable, disable, enabled and report over a switchboard."""
    def enable(ops=None):
        """Replace PyTorch's own backward kernels, all or those named ("sigmoid_backward", ...), in
        eager mode. May be called at any time and again; meant for the start of a program."""
        board.switch(board.on() | board.chosen(ops))

    def disable(ops=None):
        """Give calls back to PyTorch's own kernels, all or those named."""
        if board.on():
            board.switch(board.on() - board.chosen(ops))

    @contextlib.contextmanager
    def enabled(ops=None):
        """enable() for the length of a with statement, in all threads."""
        before = board.on()
        enable(ops)
        try:
            yield
        finally:
            board.switch(before)

    def report():
        """{name in aten: Counts(enabled, taken, passed_on)} since the program started."""
        return {name: kernel.counts() for name, kernel in board.kernels.items()}

    return enable, disable, enabled, report
