# SPDX-License-Identifier: Apache-2.0
"""As much of oneDNN's C API as peers.py needs, through ctypes, on torch's tensors.

The library is that of the folder ONEDNN_ROOT, or else the one inside PyTorch. PyTorch does not export its
functions, but its symbol table has them. Numbers are those of dnnl_types.h, the same in every oneDNN 3.
"""
import ctypes
import os
import pathlib
import re
import subprocess

import torch

MAX_DIMS = 12
DNNL_DTYPES = {torch.float16: 1, torch.bfloat16: 2, torch.float32: 3, torch.float64: 7}
STATUSES = {1: "out of memory", 2: "invalid arguments", 3: "unimplemented", 5: "runtime error"}
CPU, IN_ORDER, FORWARD_TRAINING = 1, 1, 64
SRC, DST, WEIGHTS, DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 1, 17, 33, 129, 145, 161

# Algorithms of the eltwise primitive. PReLU is a primitive of its own.
RELU, TANH, ELU, SQUARE, ABS, SQRT = range(0x20, 0x26)
SOFT_RELU, HARD_SIGMOID, LOGISTIC, EXP, GELU_TANH, SWISH, LOG = range(0x27, 0x2e)
CLIP, POW, GELU_ERF, ROUND, MISH, HARD_SWISH = range(0x2f, 0x35)
TANH_FROM_DST, ELU_FROM_DST, SQRT_FROM_DST, LOGISTIC_FROM_DST = range(0x101, 0x105)
PRELU = "prelu"


class Argument(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("memory", ctypes.c_void_p)]


def functions_inside_pytorch():
    """{name: function} by the symbol table and the address that the library was loaded at."""
    path = pathlib.Path(torch.__file__).parent / "lib/libtorch_cpu.so"
    symbols = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    maps = pathlib.Path("/proc/self/maps").read_text()
    base = int(re.search(rf"^([0-9a-f]+)-.*{re.escape(str(path.resolve()))}$", maps, re.M).group(1), 16)
    found = re.findall(r"^([0-9a-f]+) [tT] (dnnl_\w+)$", symbols, re.M)
    return {name: ctypes.CFUNCTYPE(ctypes.c_int)(base + int(offset, 16)) for offset, name in found}


class OneDNN:
    """An engine; its methods run one primitive on given tensors, and raise RuntimeError where it refuses."""

    def __init__(self):
        root = os.environ.get("ONEDNN_ROOT")
        if root:  # deepbind: PyTorch's own must not answer instead
            library = ctypes.CDLL(f"{root}/lib/libdnnl.so.3", os.RTLD_LOCAL | os.RTLD_DEEPBIND)
            self.function = lambda name: library["dnnl_" + name]
        else:
            functions = functions_inside_pytorch()
            self.function = lambda name: functions["dnnl_" + name]
        self.engine = self.make("engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.make("stream_create", self.engine, IN_ORDER)

    def version(self):
        address = ctypes.cast(self.function("version"), ctypes.c_void_p).value
        numbers = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_int))(address)()
        return ".".join(str(n) for n in numbers[0:3])

    def make(self, name, *arguments):
        """What dnnl_<name> writes through its first argument."""
        made = ctypes.c_void_p()
        self.check(name, self.function(name)(ctypes.byref(made), *arguments))
        return made

    def check(self, name, status):
        if status:
            raise RuntimeError(f"{name}: {STATUSES.get(status, status)}")

    def describe(self, tensor):
        dims = ctypes.c_int64 * MAX_DIMS
        return self.make("memory_desc_create_with_strides", tensor.dim(), dims(*tensor.shape),
                         DNNL_DTYPES[tensor.dtype], dims(*tensor.stride()))

    def eltwise_forward(self, algorithm, alpha, beta, src):
        dst = torch.zeros_like(src)
        s, numbers = self.describe(src), (ctypes.c_float(alpha), ctypes.c_float(beta))
        forward = self.make("eltwise_forward_primitive_desc_create", self.engine, FORWARD_TRAINING,
                            algorithm, s, s, *numbers, None)
        return self.run(forward, {SRC: src, DST: dst}, dst)

    def eltwise_backward(self, algorithm, alpha, beta, data, diff_dst):
        """data is dst where the algorithm is one of those from dst."""
        diff_src = torch.zeros_like(data)
        d, ddst, dsrc = map(self.describe, (data, diff_dst, diff_src))
        numbers = ctypes.c_float(alpha), ctypes.c_float(beta)
        forward = self.make("eltwise_forward_primitive_desc_create", self.engine, FORWARD_TRAINING,
                            algorithm, d, d, *numbers, None)
        backward = self.make("eltwise_backward_primitive_desc_create", self.engine, algorithm, dsrc, ddst, d,
                             *numbers, forward, None)
        tensors = {DST if algorithm >= 0x100 else SRC: data, DIFF_DST: diff_dst, DIFF_SRC: diff_src}
        return self.run(backward, tensors, diff_src)

    def prelu_forward(self, src, slope):
        dst = torch.zeros_like(src)
        s, w = self.describe(src), self.describe(slope)
        forward = self.make("prelu_forward_primitive_desc_create", self.engine, FORWARD_TRAINING, s, w, s, None)
        return self.run(forward, {SRC: src, WEIGHTS: slope, DST: dst}, dst)

    def prelu_backward(self, src, slope, diff_dst):
        diff_src, diff_slope = torch.zeros_like(src), torch.zeros_like(slope)
        s, w = self.describe(src), self.describe(slope)
        forward = self.make("prelu_forward_primitive_desc_create", self.engine, FORWARD_TRAINING, s, w, s, None)
        backward = self.make("prelu_backward_primitive_desc_create", self.engine, s, w, s, w, s, forward, None)
        return self.run(backward, {SRC: src, WEIGHTS: slope, DIFF_DST: diff_dst, DIFF_SRC: diff_src,
                                   DIFF_WEIGHTS: diff_slope}, diff_src)

    def run(self, description, tensors, result):
        """Descriptions and memory objects are small, and live as long as the process."""
        primitive = self.make("primitive_create", description)
        arguments = (Argument * len(tensors))()
        for i, (number, tensor) in enumerate(tensors.items()):
            memory = self.make("memory_create", self.describe(tensor), self.engine,
                               ctypes.c_void_p(tensor.data_ptr()))
            arguments[i] = Argument(number, memory)
        self.check("primitive_execute", self.function("primitive_execute")(primitive, self.stream,
                                                                         len(tensors), arguments))
        self.check("stream_wait", self.function("stream_wait")(self.stream))
        self.function("primitive_destroy")(primitive)
        return result
