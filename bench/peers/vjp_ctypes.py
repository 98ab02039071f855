# SPDX-License-Identifier: Apache-2.0
"""As much of vjp.h as the peers' table needs, through ctypes, on torch's tensors."""
import ctypes

import torch

MAX_DIMS = 12
VJP_DTYPES = {torch.float64: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4}


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_int),
                ("device_id", ctypes.c_int32), ("num_threads", ctypes.c_int32),
                ("parallel_for", ctypes.c_void_p), ("parallel_for_user", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("deallocate", ctypes.c_void_p),
                ("allocator_user", ctypes.c_void_p), ("isa", ctypes.c_char_p)]


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MAX_DIMS), ("strides", ctypes.c_int64 * MAX_DIMS)]


class Value(ctypes.Union):
    _fields_ = [("b", ctypes.c_int32), ("s64", ctypes.c_int64), ("f32", ctypes.c_float),
                ("f64", ctypes.c_double), ("str", ctypes.c_char_p)]


class Attr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("value", Value)]


ATTR_TYPES = {bool: (1, "b"), int: (2, "s64"), float: (5, "f64"), str: (4, "str")}


def attribute(name, value):
    number, member = ATTR_TYPES[type(value)]
    value = value.encode() if isinstance(value, str) else value
    return Attr(name.encode(), number, Value(**{member: value}))


def describe(tensor):
    return Tensor(ctypes.sizeof(Tensor), VJP_DTYPES[tensor.dtype], tensor.dim(),
                  (ctypes.c_int64 * MAX_DIMS)(*tensor.shape),
                  (ctypes.c_int64 * MAX_DIMS)(*tensor.stride()))


class Vjp:
    """A context on the device; plan() gives a function that runs one operator on given tensors."""

    def __init__(self, path, device):
        self.lib = ctypes.CDLL(str(path))
        pointer = ctypes.c_void_p
        self.lib.vjp_plan_workspace_size.restype = ctypes.c_size_t
        self.lib.vjp_plan_workspace_size.argtypes = [pointer]
        self.lib.vjp_plan_destroy.argtypes = [pointer]
        self.lib.vjp_plan_run.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_size_t,
                                          pointer]
        self.device = device
        self.reason = ctypes.create_string_buffer(256)
        self.ctx = pointer()
        options = Options(ctypes.sizeof(Options), 1 if device == "cuda" else 0)
        self.expect(self.lib.vjp_context_create(ctypes.byref(options), ctypes.byref(self.ctx),
                                                self.reason, ctypes.c_size_t(256)))

    def expect(self, status):
        if status:
            raise RuntimeError(f"vjp: status {status}: {self.reason.value.decode()}")

    def plan(self, op, attrs, inputs, outputs):
        tensors = inputs + outputs
        descriptions = [describe(t) for t in tensors]
        pointers = (ctypes.POINTER(Tensor) * len(tensors))(*map(ctypes.pointer, descriptions))
        values = (Attr * len(attrs))(*(attribute(*a) for a in attrs.items()))
        made = ctypes.c_void_p()
        self.expect(self.lib.vjp_plan_create(
            self.ctx, op.encode(), values, ctypes.c_int32(len(attrs)), pointers,
            ctypes.c_int32(len(tensors)), ctypes.byref(made), self.reason, ctypes.c_size_t(256)))
        size = self.lib.vjp_plan_workspace_size(made)
        workspace = torch.empty(size, dtype=torch.uint8, device=self.device)
        read, written = ((ctypes.c_void_p * len(some))(*(t.data_ptr() for t in some))
                         for some in (inputs, outputs))
        stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else None
        run, at = self.lib.vjp_plan_run, workspace.data_ptr()

        def call():
            if run(made, read, written, at, size, stream):
                raise RuntimeError(f"vjp_plan_run refuses {op}")

        call.keep = (workspace, tensors)
        call.close = lambda: self.lib.vjp_plan_destroy(made)
        return call
