# SPDX-License-Identifier: Apache-2.0
"""As much of oneDNN's C API as peers.py needs, through ctypes, on torch's tensors.

The library is that of the folder ONEDNN_ROOT, or the one that pip installed. Numbers are those of
dnnl_types.h, the same in every oneDNN 3.
"""
import ctypes
import os
import sys

import torch

MAX_DIMS = 12
DNNL_DTYPES = {torch.float16: 1, torch.bfloat16: 2, torch.float32: 3, torch.float64: 7}
STATUSES = {1: "out of memory", 2: "invalid arguments", 3: "unimplemented", 5: "runtime error"}
CPU, IN_ORDER, FORWARD_TRAINING = 1, 1, 64
SRC, DST, DIFF_SRC, DIFF_DST = 1, 17, 129, 145
RELU, HARD_SIGMOID, LOGISTIC, LOGISTIC_FROM_DST = 0x20, 0x28, 0x29, 0x104


class Argument(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("memory", ctypes.c_void_p)]


class OneDNN:
    """An engine; its methods give functions that run one backward primitive on given tensors."""

    def __init__(self):
        path = os.path.join(os.environ.get("ONEDNN_ROOT") or sys.prefix, "lib", "libdnnl.so.3")
        # PyTorch has a oneDNN of its own inside: deepbind keeps the two apart.
        self.lib = ctypes.CDLL(path, os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        self.engine = self.make("engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.make("stream_create", self.engine, IN_ORDER)

    def version(self):
        self.lib.dnnl_version.restype = ctypes.POINTER(ctypes.c_int)
        return ".".join(str(n) for n in self.lib.dnnl_version()[0:3])

    def make(self, name, *arguments):
        """What dnnl_<name> writes through its first argument."""
        made = ctypes.c_void_p()
        status = getattr(self.lib, "dnnl_" + name)(ctypes.byref(made), *arguments)
        if status:
            raise RuntimeError(f"{name}: {STATUSES.get(status, status)}")
        return made

    def describe(self, tensor):
        dims = ctypes.c_int64 * MAX_DIMS
        return self.make("memory_desc_create_with_strides", tensor.dim(), dims(*tensor.shape),
                         DNNL_DTYPES[tensor.dtype], dims(*tensor.stride()))

    def eltwise(self, algorithm, data_argument, data, diff_dst, diff_src, alpha=0.0, beta=0.0):
        d, ddst, dsrc = map(self.describe, (data, diff_dst, diff_src))
        numbers = ctypes.c_float(alpha), ctypes.c_float(beta)
        forward = self.make("eltwise_forward_primitive_desc_create", self.engine, FORWARD_TRAINING,
                            algorithm, d, d, *numbers, None)
        backward = self.make("eltwise_backward_primitive_desc_create", self.engine, algorithm,
                             dsrc, ddst, d, *numbers, forward, None)
        return self.primitive(backward, {data_argument: (d, data), DIFF_DST: (ddst, diff_dst),
                                         DIFF_SRC: (dsrc, diff_src)})

    def primitive(self, description, tensors):
        """Descriptions and memory objects are small, and live as long as the process."""
        primitive = self.make("primitive_create", description)
        arguments = (Argument * len(tensors))()
        for i, (number, (desc, tensor)) in enumerate(tensors.items()):
            memory = self.make("memory_create", desc, self.engine,
                               ctypes.c_void_p(tensor.data_ptr()))
            arguments[i] = Argument(number, memory)

        def call():
            status = self.lib.dnnl_primitive_execute(primitive, self.stream, len(tensors),
                                                     arguments)
            status = status or self.lib.dnnl_stream_wait(self.stream)
            if status:
                raise RuntimeError(f"primitive_execute: {STATUSES.get(status, status)}")

        call.keep = tensors
        call.close = lambda: self.lib.dnnl_primitive_destroy(primitive)
        return call
