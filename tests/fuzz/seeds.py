#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py CORPUS - write the inputs that fuzzing starts from, one folder for each target.

An input is the list of decisions that a target takes, in its order: see tests/fuzz/fuzz_*.c. Files
that this script does not write (inputs that once failed) are left alone.
"""
import pathlib
import random
import struct
import sys

OPS = 5
CORPUS = pathlib.Path(sys.argv[1])
draw = random.Random(1)


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes(data))


def noise(count, below=256):
    return [draw.randrange(below) for _ in range(count)]


# ---- plans and runs: an operator, a dtype, a shape, then anything --------------------------------

SHAPES = [[], [7], [33], [4, 5], [0, 3], [2, 3, 4], [1, 17, 2], [2, 1, 3, 2, 1], [64, 16], [1, 129],
          [3, 2, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2]]
for op in range(OPS):
    for number, shape in enumerate(SHAPES):
        name = f"op{op}-shape{number}"
        dtype = number % 4
        write("run", name, [op, dtype, len(shape), *shape, *noise(6, 4), *noise(40, 8), *noise(48)])
        write("plan", name, [op, 5, dtype, len(shape), 1, *shape, *noise(40), *noise(24, 3)])
    write("plan", f"op{op}-dense", [op, 5, op % 4, 3, 1, 2, 3, 4, *[0, 1] * op, *[23] * 8])
    write("plan", f"op{op}-huge", [op, 5, op % 4, 3, 1, 231, 225, 232, *noise(32)])

# Outputs whose strides may or may not put two elements on one address, and outputs near an input.
SAME, STRIDES, NEAR = 23, 5, 2
for number, strides in enumerate([(3, 1), (2, 1), (1, 1), (1, 3), (2, 3), (-3, 1), (4, 6), (5, 2)]):
    turned = [stride % 256 for stride in strides]
    write("plan", f"strides{number}", [0, 5, 1, 2, 1, 3, 3, SAME, SAME, STRIDES, *turned, 0, 0, 1])
for number, offset in enumerate([0, 4, 8, 36, -4, -36, 2, 12]):
    write("plan", f"near{number}", [0, 5, 1, 2, 1, 3, 3, SAME, SAME, SAME, 0, 0, 1, 0, 0, 0, NEAR, 0,
                                    offset % 256])

# ---- infiniop: a handle, five tensors, each operator created, run and destroyed ------------------

CREATE_HANDLE, CREATE_TENSOR, CREATE_OP, RUN, ASK, END_HANDLE, END_TENSOR, END_OP = range(8)


def tensors(dtype, shape, slope, strides=None):
    code = []
    for slot in range(5):
        dims = slope if slot in (1, 3) else shape
        code += [CREATE_TENSOR, slot, len(dims), dtype, 0 if strides else 1]
        for d, dim in enumerate(dims):
            code += [dim] + ([1, strides[d] % 256] if strides else [])
    return code


for op, (views, params) in enumerate([([0, 2, 4], []), ([0, 2, 4], []), ([0, 2, 4], [2, 4]),
                                      ([0, 1, 2, 3, 4], []), ([0, 2, 4], [1])]):
    for dtype in (0, 1, 2, 7):
        life = [CREATE_HANDLE, 0, 1, *tensors(dtype, [2, 3, 4], [3]),
                CREATE_OP, 0, op, *views, 0, 0, *params, ASK, 0,
                RUN, 0, 0, *[0] * len(views), 0, END_HANDLE, 0, END_TENSOR, 0, RUN, 0, 0,
                *[0] * len(views), 0, END_OP, 0]
        write("infiniop", f"life-op{op}-dtype{dtype}", life)
    odd = [CREATE_HANDLE, 0, 1, *tensors(1, [3, 4], [4], [-4, 1]), CREATE_OP, 1, op, *views, 0, 0,
           *params, RUN, 1, 0, *[2] * len(views), 0, RUN, 1, 0, 4, *[0] * (len(views) - 1), 0,
           RUN, 1, 1, 2, *[0] * len(views), 0, *noise(60, 9)]
    write("infiniop", f"odd-op{op}", odd)

# ---- oneDNN Graph: the whole way from descriptions to execution ----------------------------------

(ENGINE, STREAM, DESCRIBE, TENSOR, SET_DATA, OP, ATTR, GRAPH, ADD_OP, FINISH, COMPILE, COMPUTE,
 PARTITIONS, PARTITION, ASK_PARTITION, COMPILED, EXECUTE, DESTROY) = range(18)
F16, BF16, F32 = 1, 2, 3
ANY, STRIDED = 1, 2


def describe(slot, dtype, shape, how=1, layout=STRIDED, stride=1):
    dims = [byte for dim in shape for byte in (dim, stride % 256)]
    return [DESCRIBE, slot, len(shape) + 1, how, dtype, layout, 1, *dims, 0]


def attr(name, number=0, kind=0, choice=0):
    return [ATTR, 0, name, number, 0, 1, choice, kind]


KINDS = {  # number: inputs, outputs, attributes
    "prelu": (48, [0, 1, 2], [3, 4], attr(0x83, kind=3, choice=1)),
    "relu": (59, [0, 2], [3], attr(0x68, 1, 1)),
    "sigmoid": (63, [0, 2], [3], attr(0x68, 0, 1)),
    "softmax": (65, [0, 2], [3], attr(0x30, 1, 2)),
    "hard_sigmoid": (80, [0, 2], [3], attr(0x1, 2) + attr(0x2, 4)),
}
for name, (kind, inputs, outputs, attrs) in KINDS.items():
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
    smaller = describe(0, dtype, [1, 1, 1]) + [TENSOR, 0, 0, 0, 2, 0]
    write("dnnl_graph", f"smaller-{name}",
          start + operation + through + work + filled + smaller + run)
    write("dnnl_graph", f"odd-{name}", start + operation + through + work + noise(80, 18))

# A SoftMax that needs a scratchpad, and gets one that runs backwards.
start = [ENGINE, 0, 0, STREAM, 0, 1, 0]
for slot in (0, 1, 2):
    start += describe(slot, F32, [16], how=2, stride=2)
start += describe(3, 6, [100], how=2, stride=-1)
operation = [OP, 0, 7, 65, 0, 2, 0, 1, 1, 2, *attr(0x30, 0, 2), PARTITION, 0, 0]
work = [COMPILED, 0, 0, COMPILE, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 2, COMPUTE, 0, 0]
filled = [b for slot in range(4) for b in (TENSOR, slot, slot, 0, 2, 0)]
write("dnnl_graph", "scratchpad-backwards",
      start + operation + work + filled + [EXECUTE, 0, 0, 1, 0, 1, 1, 2, 3, 0])

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

# ---- command lines -------------------------------------------------------------------------------

INFO, LIST, RUN_COMMAND, CHECK, BENCH = range(5)
LINES = [
    (INFO, "--help"), (INFO, "surplus"), (LIST, "relu_backward"), (LIST, "--json", "x"),
    (RUN_COMMAND, "relu_backward", "--src", "a", "--diff_dst=b", "--diff_src", "c"),
    (RUN_COMMAND, "relu_backward", "--src", "-", "--diff_dst=-", "--diff_src", "-"),
    (RUN_COMMAND, "sigmoid_backward", "--use_dst", "true", "--src=-", "--diff_dst", "b",
     "--diff_src=-", "--threads", "2"),
    (RUN_COMMAND, "softmax_backward", "--axis", "-1", "--wide", "f32", "--diff_dst=a", "--dst=b",
     "--diff_src=c"),
    (RUN_COMMAND, "hard_sigmoid_backward", "--alpha=1e39", "--beta", "0x1p-3"),
    (RUN_COMMAND, "hard_sigmoid_backward", "--alpha=0.2", "--beta=nan", "--src=a", "--diff_dst=a",
     "--diff_src=b"),
    (RUN_COMMAND, "prelu_backward", "--data_format", "NCX", "--src=a", "--slope=b", "--diff_dst=c",
     "--diff_src=d", "--diff_slope=e", "--wide=bf16"),
    (RUN_COMMAND, "--", "--src"), (RUN_COMMAND, "--=", "-x"), (RUN_COMMAND, "nothing", "--help"),
    (RUN_COMMAND, *["--src=a"] * 70), (CHECK, "--quick", "--bits"), (CHECK, "--seed"),
    (BENCH, "--json", "-", "--op=relu_backward"), (BENCH, "--threads", "99999999999999999999"),
]
for number, (command, *words) in enumerate(LINES):
    write("arguments", f"line{number:02}", bytes([command]) + "\0".join(words).encode())
