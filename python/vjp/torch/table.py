# SPDX-License-Identifier: Apache-2.0
"""The library's table of operators, read through its enumeration (include/vjp/vjp.h)."""
import ctypes
import dataclasses
import functools
import pathlib

LIBRARY = pathlib.Path(__file__).parent.parent / "lib" / "libvjp_torch.so"

# vjp_dtype_rule, vjp_shape_rule, vjp_attr_role and vjp_tensor_flags of the header.
SAME, WIDE, ANY, STAT, INDEX, MASK = range(1, 7)
DATA, PARAM, ROW = range(1, 4)
HINT, CHOICE, FLAG, CONSTANT, AXIS, AXES, FORMAT, CAUSAL, IGNORED = range(1, 10)
OPTIONAL, SUM = 1, 2


class _OpInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("title", ctypes.c_char_p), ("formula", ctypes.c_char_p),
                ("ninputs", ctypes.c_int32), ("noutputs", ctypes.c_int32),
                ("nattrs", ctypes.c_int32), ("nbounds", ctypes.c_int32)]


class _TensorInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dtype_rule", ctypes.c_int), ("shape_rule", ctypes.c_int),
                ("flags", ctypes.c_uint32)]


class _Value(ctypes.Union):
    _fields_ = [("b", ctypes.c_int32), ("s64", ctypes.c_int64), ("f32", ctypes.c_float),
                ("f64", ctypes.c_double), ("str", ctypes.c_char_p)]


class _Attr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("value", _Value)]


class _AttrInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("type", ctypes.c_int), ("role", ctypes.c_int), ("required", ctypes.c_int32),
                ("default_value", _Attr), ("choices", ctypes.c_char_p),
                ("meaning", ctypes.c_char_p)]


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    dtype_rule: int
    shape_rule: int
    flags: int

    @property
    def is_optional(self):
        return bool(self.flags & OPTIONAL)

    @property
    def is_data(self):
        """Whether its elements are the numbers that a gradient flows through."""
        return self.dtype_rule in (SAME, WIDE, ANY, STAT)


@dataclasses.dataclass(frozen=True)
class Attr:
    name: str
    role: int
    required: bool
    default: object


@dataclasses.dataclass(frozen=True)
class Operator:
    name: str
    formula: str
    inputs: tuple
    outputs: tuple
    attrs: tuple

    @functools.cached_property
    def axis(self):
        """The attribute that says where rows run, or None for an elementwise operator."""
        return next((a for a in self.attrs if a.role in (AXIS, AXES)), None)

    @functools.cached_property
    def input_names(self):
        return tuple(t.name for t in self.inputs)

    @functools.cached_property
    def output_names(self):
        return tuple(t.name for t in self.outputs)

    @functools.cached_property
    def attr_names(self):
        return tuple(a.name for a in self.attrs)

    def like(self, output):
        """The index of the input that gives an output its shape; None: one element per row."""
        source = output.name.removeprefix("diff_")
        if source != output.name and source in self.input_names:
            return self.input_names.index(source)
        return None if output.shape_rule == ROW else 0

    def settings(self, given):
        """All attributes by name: those given and the defaults of the rest."""
        return {a.name: given.get(a.name, a.default) for a in self.attrs}


def _attr(info):
    value = info.default_value.value
    types = {1: lambda: bool(value.b), 2: lambda: value.s64, 3: lambda: value.f32,
             4: lambda: value.str.decode(), 5: lambda: value.f64}
    default = None if info.required else types[info.type]()
    return Attr(info.name.decode(), info.role, bool(info.required), default)


def _operator(library, pointer):
    info = pointer.contents
    tensors = []
    for i in range(info.ninputs + info.noutputs):
        t = library.vjp_op_tensor(pointer, i).contents
        tensors.append(Tensor(t.name.decode(), t.dtype_rule, t.shape_rule, t.flags))
    attrs = tuple(_attr(library.vjp_op_attr(pointer, i).contents) for i in range(info.nattrs))
    return Operator(info.name.decode(), info.formula.decode(), tuple(tensors[:info.ninputs]),
                    tuple(tensors[info.ninputs:]), attrs)


def read(library):
    """{name: Operator} of a library opened with ctypes; its symbols include those of libvjp."""
    library.vjp_op_at.restype = ctypes.POINTER(_OpInfo)
    library.vjp_op_tensor.restype = ctypes.POINTER(_TensorInfo)
    library.vjp_op_attr.restype = ctypes.POINTER(_AttrInfo)
    operators = (_operator(library, library.vjp_op_at(i)) for i in range(library.vjp_op_count()))
    return {op.name: op for op in operators}
