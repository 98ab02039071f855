#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py CORPUS - write the inputs that fuzzing starts from, one folder for each target.

An input is the list of decisions that a target takes, in its order: see tests/fuzz/fuzz_*.c. The
operators come from the tables that the libraries are built from. Files that this script does not
write (inputs that once failed, and those that fuzzing found) are left alone.
"""
import json
import pathlib
import random
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(sys.argv[1])
draw = random.Random(1)


def read_table(path):
    """The text of a table and of those that it includes, without comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r'^#include "(.+)"', lambda line: read_table(path.parent / line[1]), text,
                  flags=re.M)


def table(path):
    """The entries OP(name, ...) of a table: {name: the text of the rest}, in their order."""
    entries = re.findall(r"^(?:OP|OPEN|HALVES)\((\w+)(.*?)(?=^#|^OP|^HALVES|\Z)",
                         read_table(ROOT / path), flags=re.S | re.M)
    return dict(entries)


def members(kinds, text):
    """The names in IN(name, ...) and the like, as (kind, name)."""
    return re.findall(rf"\b({kinds})\((\w+)", text)


OPS = table("src/ops.def")


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes(data))


def noise(count, below=256):
    return [draw.randrange(below) for _ in range(count)]


# ---- plans and runs: an operator, a dtype, a shape, then anything --------------------------------

SHAPES = [[], [7], [33], [4, 5], [0, 3], [2, 3, 4], [1, 17, 2], [2, 1, 3, 2, 1], [64, 16], [1, 129],
          [3, 2, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2]]
for op, op_name in enumerate(OPS):
    for number, shape in enumerate(SHAPES):
        name = f"{op_name}-shape{number}"
        dtype = number % 4
        write("run", name, [op, dtype, len(shape), 7, *shape, *noise(6, 4), *noise(40, 8),
                            *noise(48)])
        write("plan", name, [op, 5, dtype, len(shape), 1, *shape, *noise(40), *noise(24, 3)])
    write("plan", f"{op_name}-dense", [op, 5, op % 4, 3, 1, 2, 3, 4, *[0, 1] * op, *[23] * 8])
    write("plan", f"{op_name}-huge", [op, 5, op % 4, 3, 1, 231, 225, 232, *noise(32)])

# Outputs whose strides may or may not put two elements on one address, and outputs near an input.
SAME, STRIDES, NEAR = 23, 5, 2
for number, strides in enumerate([(3, 1), (2, 1), (1, 1), (1, 3), (2, 3), (-3, 1), (4, 6), (5, 2)]):
    turned = [stride % 256 for stride in strides]
    write("plan", f"strides{number}", [0, 5, 1, 2, 1, 3, 3, SAME, SAME, STRIDES, *turned, 0, 0, 1])
for number, offset in enumerate([0, 4, 8, 36, -4, -36, 2, 12]):
    write("plan", f"near{number}", [0, 5, 1, 2, 1, 3, 3, SAME, SAME, SAME, 0, 0, 1, 0, 0, 0, NEAR, 0,
                                    offset % 256])

# One element of f32 over the half of it that is one of f16.
for op, op_name in enumerate(OPS):
    write("plan", f"{op_name}-half", [op, 5, 2, 2, 0, 1, 1, SAME, SAME, SAME, 0, 0, 1, 0, 1,
                                      *struct.pack("<Q", (1 << 40) + 2), 0, NEAR, 0, -2 % 256])

# ---- infiniop: a handle, five tensors, each operator created, run and destroyed ------------------

(CREATE_HANDLE, CREATE_TENSOR, CREATE_OP, RUN, ASK, END_HANDLE, END_TENSOR, END_OP,
 RUNTIME) = range(9)


def tensors(dtype, shape, slope, strides=None):
    code = []
    for slot in range(5):
        dims = slope if slot in (1, 3) else shape
        code += [CREATE_TENSOR, slot, len(dims), dtype, 0 if strides else 1]
        for d, dim in enumerate(dims):
            code += [dim] + ([1, strides[d] % 256] if strides else [])
    return code


def view(tensor):
    """The slot of a tensor among those above, by its name."""
    return {"slope": 1, "diff_slope": 3, "diff_src": 0, "diff_dst": 4}.get(tensor, 2)


for op, (stem, row) in enumerate(table("compat/infiniop/ops.def").items()):
    views = [view(name) for name in re.findall(r"\w+", re.search(r"\(([\w, ]+)\)", row)[1])]
    params = [2 + 2 * i for i in range(len(re.findall(r"\b(?:float|int) \w+", row)))]
    stem = stem.removesuffix("Backward").lower()
    for dtype in (0, 1, 2, 7):
        life = [CREATE_HANDLE, 0, 1, *tensors(dtype, [2, 3, 4], [3]),
                CREATE_OP, 0, op, *views, 0, 0, *params, ASK, 0,
                RUN, 0, 0, *[0] * len(views), 0, END_HANDLE, 0, END_TENSOR, 0, RUN, 0, 0,
                *[0] * len(views), 0, END_OP, 0]
        write("infiniop", f"life-{stem}-dtype{dtype}", life)
    odd = [CREATE_HANDLE, 0, 1, *tensors(1, [3, 4], [4], [-4, 1]), CREATE_OP, 1, op, *views, 0, 0,
           *params, RUN, 1, 0, *[2] * len(views), 0, RUN, 1, 0, 4, *[0] * (len(views) - 1), 0,
           RUN, 1, 1, 2, *[0] * len(views), 0, *noise(60, 9)]
    write("infiniop", f"odd-{stem}", odd)

ALLOCATE, COPY, SET, EVENT, STREAM_CALL, DEVICE = ([RUNTIME, call] for call in range(6))
write("infiniop", "runtime", [
    *ALLOCATE, 0, 0, 200, 0, *ALLOCATE, 1, 1, 100, 0, *SET, 0, 7, 1, *COPY, 1, 0, 0, 1,
    *EVENT, 0, 0, 1, *EVENT, 0, 1, *EVENT, 1, 0, 0, 3, *EVENT, 1, 1, *EVENT, 0, 2, *EVENT, 0, 3,
    *STREAM_CALL, 1, 2, *DEVICE, 1, 1, *DEVICE, 0, 1, 1, *DEVICE, 0, 77, 0, 3])

# ---- oneDNN Graph: the whole way from descriptions to execution ----------------------------------

(ENGINE, STREAM, DESCRIBE, TENSOR, SET_DATA, OP, ATTR, GRAPH, ADD_OP, FINISH, COMPILE, COMPUTE,
 PARTITIONS, PARTITION, ASK_PARTITION, COMPILED, EXECUTE, DESTROY, SETTINGS) = range(19)
F16, BF16, F32 = 1, 2, 3
ANY, STRIDED = 1, 2


def describe(slot, dtype, shape, how=1, layout=STRIDED, stride=1):
    dims = [byte for dim in shape for byte in (dim, stride % 256)]
    return [DESCRIBE, slot, len(shape) + 1, how, dtype, layout, 1, *dims, 0]


def attr(name, number=0, kind=0, choice=0):
    return [ATTR, 0, name, number, 0, 1, choice, kind]


HEADER = (ROOT / "compat/dnnl_graph/include/oneapi/dnnl/dnnl_graph_types.h").read_text()
ATTR_NUMBERS = {name: int(number, 16)
                for name, number in re.findall(r"dnnl_graph_op_attr_(\w+) = (0x\w+)", HEADER)}
ATTR_TYPES = ["F32_REQUIRED", "BOOL", "S64", "STR"]  # in the order in which the target takes them
for kind, (op_name, row) in enumerate(table("compat/dnnl_graph/ops.def").items()):
    if op_name not in OPS:
        continue
    name = op_name.removesuffix("_backward")
    slot = {"slope": 1, "diff_dst": 2, "diff_src": 3, "diff_slope": 4}
    inputs = [slot.get(tensor, 0) for _, tensor in members("IN", row)]
    outputs = [slot[tensor] for _, tensor in members("OUT", row)]
    attrs = []
    for number, (type_name, attr_name) in enumerate(members("|".join(ATTR_TYPES), row)):
        value = kind % 2 if type_name == "BOOL" else 2 + 2 * number
        attrs += attr(ATTR_NUMBERS[attr_name], value, ATTR_TYPES.index(type_name), choice=1)
    for dtype in (F16, BF16, F32):
        start = [ENGINE, 0, 0 if dtype == F32 else 9, STREAM, 0, 1, 0]
        start += describe(0, dtype, [2, 3, 4]) + describe(1, dtype, [3])
        start += describe(2, dtype, [2, 3, 4])
        for slot, shape in ((3, [2, 3, 4]), (4, [3])):
            start += describe(slot, dtype, shape, 1, ANY if dtype == F16 else STRIDED)
        operation = [OP, 0, 7, kind, 0, len(inputs), *inputs, len(outputs), *outputs, *attrs]
        through = [PARTITION, 0, 0] if dtype == F32 else [
            GRAPH, 0, 1, ADD_OP, 0, 0, FINISH, 0, 0, PARTITIONS, 0]
        lists = [len(inputs), *[b for i in inputs for b in (0, i)],
                 len(outputs), *[b for o in outputs for b in (0, o)]]
        work = [COMPILED, 0, 0, COMPILE, 0, 0, 0, *lists, COMPUTE, 0, 0, ASK_PARTITION, 0]
        filled = [b for slot in range(5) for b in (TENSOR, slot, slot, 0, 2, 0)]
        run = [EXECUTE, 0, 0, 1, *inputs, 1, *outputs, 5, 1]
        end = [DESTROY, 0, 0, DESTROY, 2, 0, DESTROY, 3, 0, COMPUTE, 0, 0, DESTROY, 4, 0]
        write("dnnl_graph", f"life-{name}-{dtype}",
              start + operation + through + work + filled + run + end)
    for change, described in (("smaller", describe(0, dtype, [1, 1, 1])),
                              ("closer", describe(0, dtype, [2, 3, 4], how=2))):
        write("dnnl_graph", f"{change}-{name}", start + operation + through + work + filled
              + described + [TENSOR, 0, 0, 0, 2, 0] + run)
    write("dnnl_graph", f"fewer-{name}", start + operation + through + work + filled
          + [EXECUTE, 0, 0, 1, *inputs, 0, outputs[0], 5, 1])
    write("dnnl_graph", f"odd-{name}", start + operation + through + work + noise(80, 18))



def graph_kind(wanted):
    """The number of the first operation that we serve and whose row of the table is wanted."""
    rows = table("compat/dnnl_graph/ops.def")
    name = next(name for name, row in rows.items() if name in OPS and wanted(row))
    return int(re.search(rf"dnnl_graph_op_{name} = (\d+)", HEADER)[1])


# An operation along an axis that needs a scratchpad, and gets one that runs backwards.
ROWS = graph_kind(lambda row: members("S64", row))
start = [ENGINE, 0, 0, STREAM, 0, 1, 0]
for slot in (0, 1, 2):
    start += describe(slot, F32, [16], how=2, stride=2)
start += describe(3, 6, [100], how=2, stride=-1)
operation = [OP, 0, 7, ROWS, 0, 2, 0, 1, 1, 2, *attr(ATTR_NUMBERS["axis"], 0, 2), PARTITION, 0, 0]
work = [COMPILED, 0, 0, COMPILE, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 2, COMPUTE, 0, 0]
filled = [b for slot in range(4) for b in (TENSOR, slot, slot, 0, 2, 0)]
write("dnnl_graph", "scratchpad-backwards",
      start + operation + work + filled + [EXECUTE, 0, 0, 1, 0, 1, 1, 2, 3, 0])

# A graph in which one operation needs what the other makes, added in the wrong order.
MAP = graph_kind(lambda row: len(members("IN", row)) == 2 and len(members("OUT", row)) == 1)
chain = [ENGINE, 0, 0, STREAM, 0, 1, 0, GRAPH, 0, 1]
for slot in range(6):
    chain += describe(slot, F32, [4])
for inputs, output in (([0, 4], 5), ([1, 2], 4)):
    chain += [OP, 0, output, MAP, 0, 2, *inputs, 1, output, ADD_OP, 0, 0]
write("dnnl_graph", "chain", chain + [FINISH, 0, 0, PARTITIONS, 0, ASK_PARTITION, 0,
                                      ASK_PARTITION, 1, SETTINGS, 2, 7, 1])

# ---- .npy files ----------------------------------------------------------------------------------


def npy(text, data=b"", version=1):
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + data


for number, (descr, item) in enumerate([("<f8", 8), ("<f4", 4), ("<f2", 2), ("<V2", 2),
                                        ("bfloat16", 2)]):
    write("npy", f"dtype{number}", npy(
        f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 3), }}   \n", bytes(6 * item)))
write("npy", "fortran", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", bytes(24)))
write("npy", "scalar", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", bytes(4), 2))
write("npy", "empty", npy("{'shape': (0, 7L), \"descr\": '|V2', 'fortran_order': True}\n", b"", 3))
write("npy", "huge", npy("{'descr': '<f8', 'fortran_order': True, 'shape': "
                         "(4294967296, 4294967296, 9223372036854775807), }"))
write("npy", "many", npy("{'descr': '<f2', 'fortran_order': False, 'shape': ("
                         + "1, " * 13 + "), }", bytes(2)))
write("npy", "big-endian", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", bytes(4)))
write("npy", "twice", npy("{'shape': (1,), 'shape': (1,)}"))
write("npy", "open", npy("{'descr': '<f4', 'fortran_order': Tr"))

# ---- safetensors files ---------------------------------------------------------------------------


def safetensors(text, data=b""):
    return struct.pack("<Q", len(text)) + text.encode() + data


def entry(name, dtype, shape, begin, end):
    return (f'"{name}":{{"dtype":"{dtype}","shape":{json.dumps(shape)},'
            f'"data_offsets":[{begin},{end}]}}')


for number, (dtype, item) in enumerate([("F64", 8), ("F32", 4), ("F16", 2), ("BF16", 2), ("I64", 8),
                                        ("I32", 4), ("U8", 1)]):
    write("safetensors", f"dtype{number}",
          safetensors("{" + entry("0/src", dtype, [2, 3], 0, 6 * item) + "}", bytes(6 * item)))
write("safetensors", "cases", safetensors(
    '{"__metadata__":{"operator":"x","cases":"[{\\"name\\":\\"0\\u00e9\\"}]"},'
    + entry("0/a", "U8", [2], 2, 4) + " ,\n" + entry("0/b", "U8", [], 1, 2) + ","
    + entry("0/c", "F16", [0, 5], 1, 1) + "," + entry("0/d", "U8", [1], 0, 1) + "}   ", bytes(4)))
write("safetensors", "gap", safetensors("{" + entry("a", "U8", [1], 1, 2) + "}", bytes(2)))
write("safetensors", "twice", safetensors(
    "{" + entry("a", "U8", [0], 0, 0) + "," + entry("a", "U8", [1], 0, 1) + "}", bytes(1)))
write("safetensors", "huge", safetensors(
    "{" + entry("a", "F32", [1 << 62, 1 << 62], 0, 1 << 62) + "}", bytes(4)))
write("safetensors", "escape", safetensors('{"\\ud83d\\ude00\\n":{"dtype":"\\ud83d'))
write("safetensors", "empty", safetensors("{}"))
write("safetensors", "cut", struct.pack("<Q", 1 << 40))

# ---- command lines -------------------------------------------------------------------------------

INFO, LIST, RUN_COMMAND, CHECK, BENCH = range(5)
FIRST, TENSOR_KINDS = next(iter(OPS)), "IN|FULL|SUM"
FILES = [f"--{name}" for _, name in members(TENSOR_KINDS, OPS[FIRST])]
LINES = [
    (INFO, "--help"), (INFO, "surplus"), (LIST, FIRST), (LIST, "--json", "x"),
    (RUN_COMMAND, FIRST, *[word for name in FILES for word in (name, "a")]),
    (RUN_COMMAND, FIRST, *[f"{name}=-" for name in FILES], "--threads", "2"),
    (RUN_COMMAND, "--", *FILES), (RUN_COMMAND, "--=", "-x"), (RUN_COMMAND, "nothing", "--help"),
    (RUN_COMMAND, *["--src=a"] * 70), (CHECK, "--quick", "--bits"), (CHECK, "--seed"),
    (BENCH, "--json", "-", f"--op={FIRST}"), (BENCH, "--threads", "99999999999999999999"),
]
VALUES = {"BOOL": ["true", "2"], "CHOICE": ["false", "1"], "AXIS": ["-1", "99999999999999999999"],
          "FORMAT": ["NCX", "ncx"], "F32": ["0x1p-3", "nan", "1e39"]}
for op_name, entry in OPS.items():
    letters = {"IN": "a", "FULL": "x", "SUM": "y"}
    files = [f"--{name}={'b' if name == 'slope' else letters[kind]}"
             for kind, name in members(TENSOR_KINDS, entry)]
    given = members("|".join(VALUES), entry)
    for choice in range(3):
        words = [f"--{name}={VALUES[kind][choice % len(VALUES[kind])]}" for kind, name in given]
        LINES.append((RUN_COMMAND, op_name, *words, *files, *["--wide", "f32"][:choice]))
for number, (command, *words) in enumerate(LINES):
    write("arguments", f"line{number:02}", bytes([command]) + "\0".join(words).encode())
