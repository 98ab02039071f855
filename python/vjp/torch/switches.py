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
    """A kernel in Python: for aten operators with a Scalar, which the stable ABI cannot pass."""

    def __init__(self, aten, takes, call):
        self._own = getattr(torch.ops.aten, aten).grad_input
        self._takes, self._call = takes, call
        self.enabled = False
        self._taken = self._passed_on = 0

    def __call__(self, grad_output, saved, *rest):
        if (self.enabled and grad_output.dtype is saved.dtype and saved.dtype in _DTYPES
                and grad_output.shape == saved.shape and saved.dim() <= 12 and self._takes(*rest)):
            self._taken += 1
            return self._call(grad_output, saved, *rest)
        self._passed_on += 1
        dtype = torch.promote_types(grad_output.dtype, saved.dtype)
        result = torch.empty(0, dtype=dtype, device=saved.device)
        return self._own(grad_output, saved, *rest, grad_input=result)

    def switch(self, on):
        self.enabled = on

    def counts(self):
        return Counts(self.enabled, self._taken, self._passed_on)


class Switchboard:
    """All kernels that can be replaced, by their names in aten."""

    def __init__(self, library, operators):
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
            if library.vjp_torch_override_exists(i):
                self.kernels[name.decode()] = _NativeKernel(library, i)
        if "relu_backward" in operators:
            relu_backward = torch.ops.vjp.relu_backward.default
            self.kernels["threshold_backward"] = _PythonKernel(
                "threshold_backward", takes=lambda threshold: threshold == 0,
                call=lambda grad_output, saved, threshold: relu_backward(saved, grad_output))

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
                        library.impl(name, kernel, device)
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
