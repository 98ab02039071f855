# SPDX-License-Identifier: Apache-2.0
"""The library's table of operators (the enumeration of include/vjp/vjp.h), as objects."""
import dataclasses
import functools

from vjp import _core

# vjp_dtype_rule, vjp_shape_rule, vjp_attr_role and vjp_tensor_flags of the header.
SAME, WIDE, ANY, STAT, INDEX, MASK = range(1, 7)
DATA, PARAM, ROW = range(1, 4)
HINT, CHOICE, FLAG, CONSTANT, AXIS, AXES, FORMAT, CAUSAL, IGNORED, CHANNELS = range(1, 11)
OPTIONAL, SUM, LABEL = 1, 2, 4


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
        before = self.outputs[max(0, self.outputs.index(output) - 1)]
        if before is not output and before.shape_rule == output.shape_rule == PARAM:
            return self.like(before) # of another parameter, which the operator does not need
        return None if output.shape_rule == ROW else 0

    def settings(self, given):
        """All attributes by name: those given and the defaults of the rest."""
        return {a.name: given.get(a.name, a.default) for a in self.attrs}

    def is_on(self, role, settings):
        """Whether the operator has an attribute of this role that is set."""
        return any(a.role == role and settings[a.name] for a in self.attrs)

    def has_channels_first(self, settings):
        """Whether a 1-D parameter is along dim 1, not the last."""
        applies = not any(a.role == CHANNELS and not settings[a.name] for a in self.attrs)
        return applies and any(a.role == FORMAT and settings[a.name] == "NCX" for a in self.attrs)


def _tensor(entry):
    return Tensor(entry["name"], entry["dtype_rule"], entry["shape_rule"], entry["flags"])


def _attr(entry):
    return Attr(entry["name"], entry["role"], entry["required"], entry["default"])


def _operator(entry):
    return Operator(entry["name"], entry["formula"], tuple(map(_tensor, entry["inputs"])),
                    tuple(map(_tensor, entry["outputs"])), tuple(map(_attr, entry["attrs"])))


OPERATORS = {entry["name"]: _operator(entry) for entry in _core.table()}
