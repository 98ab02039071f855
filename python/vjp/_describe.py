# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings of operators, from the library's table (vjp._core.table)."""

import math
import textwrap

OPTIONAL, SUM = 1, 2  # vjp_tensor_flags
DATA, PARAM, ROW = 1, 2, 3  # vjp_shape_rule
BOOL, S64, F32, STR, F64 = 1, 2, 3, 4, 5  # vjp_attr_type
CHOICE, CONSTANT, AXIS, AXES, FORMAT, CAUSAL, CHANNELS = 2, 4, 5, 6, 7, 8, 10  # vjp_attr_role

TYPES = {BOOL: "bool", S64: "int", F32: "float", STR: "str", F64: "float"}
DTYPES = {1: "float64", 2: "float32", 3: "float16", 4: "bfloat16"}  # vjp_dtype, of data

_DTYPE_RULES = {
    1: "dtype D",
    2: "dtype D, or float32 where D has 16 bits",
    3: "dtype D, or float32 where D has 16 bits, or 16 bits where D is float32",
    4: "float64 where D is float64, else float32",
    5: "int32 or int64",
    6: "uint8 or bool",
}


def is_optional(tensor):
    return bool(tensor["flags"] & OPTIONAL)


# Where a backward operator names things otherwise than its forward operator: what it takes, and what it
# calls the gradients of the forward operator's inputs.
RENAMED = {"add_rms_norm_backward": {"src": "sum", "diff_a": "diff_src", "diff_b": "diff_src"}}


def renamed(backward, name):
    """What a backward operator's tensor is called by the forward operator, or the other way round for a
    gradient."""
    return RENAMED.get(backward, {}).get(name, name)


def parameters(op):
    """(name, kind, annotation, default) of each parameter; a default of None is none at all.

    Required inputs may be given by position; everything else is a keyword.
    """
    several = len(op["outputs"]) > 1
    for tensor in op["inputs"]:
        if not is_optional(tensor):
            yield tensor["name"], "input", "array", None
    for tensor in op["inputs"]:
        if is_optional(tensor):
            yield tensor["name"], "keyword", "array or None", "None"
    for attr in op["attrs"]:
        yield attr["name"], "keyword", TYPES[attr["type"]], default(attr)
    yield "out", "keyword", "tuple or None" if several else "array or None", "None"
    if any(map(is_optional, op["outputs"])):
        yield "want", "keyword", "names or None", "None"


def default(attr):
    """The default of an attribute as Python source; None if it is required."""
    if attr["required"]:
        return None
    value = attr["default"]
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


def signature(op):
    words = []
    for name, kind, _, value in parameters(op):
        if kind == "keyword" and "*" not in words:
            words.append("*")
        words.append(name if value is None else f"{name}={value}")
    return ", ".join(words)


def _shape(op, tensor, index, is_output):
    first = op["inputs"][0]["name"]
    if tensor["shape_rule"] == ROW:
        return f"one per row: the shape of {first} without the axis"
    if tensor["shape_rule"] == DATA:
        return "any shape" if index == 0 and not is_output else f"the shape of {first}"
    names = [t["name"] for t in op["inputs"]]
    partner = tensor["name"].removeprefix("diff_")
    if is_output and partner in names:
        return f"the shape of {partner}, summed over the other dims"
    return f"broadcast to {first}"


def _tensors(op, tensors, is_output):
    for index, tensor in enumerate(tensors):
        text = f"{_DTYPE_RULES[tensor['dtype_rule']]}, {_shape(op, tensor, index, is_output)}"
        yield tensor["name"], text + ("; optional" if is_optional(tensor) else "")


def _attrs(op):
    for attr in op["attrs"]:
        words = [TYPES[attr["type"]], attr["meaning"]]
        if attr["choices"]:
            words.append("one of " + ", ".join(attr["choices"].split("|")))
        words.append("required" if attr["required"] else f"default {attr['default']}")
        yield attr["name"], "; ".join(words)


def _bounds(op):
    for bound in op["bounds"]:
        dtypes = ", ".join(name for bit, name in DTYPES.items() if bound["dtypes"] >> bit & 1)
        choice = ""
        if bound["choice"] >= 0:
            attr = next(a for a in op["attrs"] if a["role"] == CHOICE)
            value = attr["choices"].split("|")[bound["choice"]] if attr["choices"] else bool(bound["choice"])
            choice = f", {attr['name']} {value}"
        yield bound["output"], f"{dtypes}{choice}: {bound['text']}"


def _section(title, rows):
    rows = list(rows)
    if not rows:
        return ""
    lines = [title, "-" * len(title)]
    for name, text in rows:
        lines += textwrap.wrap(f"{name} : {text}", 88, subsequent_indent="    ")
    return "\n".join(lines) + "\n\n"


def docstring(op, in_jax=False):
    """Functions of vjp.jax have no parameter `out`."""
    several = len(op["outputs"]) > 1
    first = op["inputs"][0]["name"]
    out = [("out", "a tuple with an array or None for each output; an array may be an input" if several
            else "the array to write, which may be an input; None: a new one")]
    if in_jax:
        out = []
    if any(map(is_optional, op["outputs"])):
        out.append(("want", "names of the outputs to compute; None: all gradients, or those in out"))
    text = "\n".join(textwrap.wrap(f"{op['title']}: {op['formula']}", 88)) + "\n\n"
    text += f"D is the dtype of {first}: float64, float32, float16 or bfloat16. Strides may be any.\n\n"
    text += _section("Inputs", _tensors(op, op["inputs"], False))
    text += _section("Attributes", _attrs(op))
    text += _section("Outputs", [*_tensors(op, op["outputs"], True), *out])
    text += _section("Error bounds", _bounds(op))
    return text.rstrip() + "\n"


def text_signature(op):
    """The signature and docstring in the form that inspect.signature reads."""
    return f"{op['name']}({signature(op)})\n--\n\n{docstring(op)}"
