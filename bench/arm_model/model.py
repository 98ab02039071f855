#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model.py [CASE...] - the cycles per element that a 64-bit Arm core would need, by a model of it.

There is no Arm machine to measure on. qemu runs one call of the library (call.c) and lists every instruction that it
executes; llvm-mca schedules that list on its model of a core. The figure of a case is the difference of two sizes, so
that what a call costs once is not in it. The model has the core's pipelines and its reorder buffer, but not its
memory: all data is in the first cache, and every branch is predicted.

Needs libvjp.a for Arm in build/arm-model: `make arm-model` builds it. Without arguments all cases are run, and
docs/results/arm-model.json and the table of docs/performance.md are updated.
"""
import re
import subprocess
import sys
from math import prod
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/arm-model"
PAGE = ROOT / "docs/performance.md"
sys.path.insert(0, str(ROOT / "tools/site"))

import results  # noqa: E402

CORE = "neoverse-v2"
DTYPES = ("f32", "bf16")
ISAS = ("scalar", "neon")

# What a case is called: the operator, a shape for each tensor, attributes, and the sizes R that are compared.
MAP = (1024, 2048)
CASES = {
    "relu": ("relu_backward", "R R R", "", MAP),
    "sigmoid from src": ("sigmoid_backward", "R R R", "use_dst=0", MAP),
    "sigmoid from dst": ("sigmoid_backward", "R R R", "use_dst=1", MAP),
    "gelu": ("gelu_backward", "R R R", "", MAP),
    "silu": ("silu_backward", "R R R", "", MAP),
    "softmax, rows of 1024": ("softmax_backward", "Rx1024 Rx1024 - - Rx1024", "", (1, 2)),
    "prelu, one slope": ("prelu_backward", "R 1 R R 1", "", (4096, 8192)),
    "prelu NXC, 256 channels": ("prelu_backward", "Rx256 256 Rx256 Rx256 256", "", (16, 32)),
    "rms_norm, rows of 1024": ("rms_norm_backward", "Rx1024 1024 - Rx1024 Rx1024 1024", "", (2, 4)),
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def build():
    """The traced program, static and at fixed addresses; the text of its instructions and its functions by address."""
    program = BUILD / "call"
    output("aarch64-linux-gnu-gcc", "-O2", "-static", "-no-pie", "-fopenmp", f"-I{ROOT}/include", "-DVJP_STATIC",
           str(ROOT / "bench/arm_model/call.c"), str(BUILD / "libvjp.a"), "-lm", "-o", str(program))
    instructions, functions = {}, {}
    for line in output("llvm-objdump-19", "-d", "--mattr=+all", "--no-show-raw-insn", str(program)).splitlines():
        if match := re.match(r"([0-9a-f]+) <(\w+)>:", line):
            functions[match[2]] = int(match[1], 16)
        elif match := re.match(r" *([0-9a-f]+): *\t(.*)", line):
            instructions[int(match[1], 16)] = match[2]
    return program, instructions, functions


def trace(program, functions, isa, arguments):
    """The addresses of the instructions of a run, in the order of their execution."""
    log = BUILD / "trace"
    output("qemu-aarch64", "-singlestep", "-d", "exec,nochain", "-D", str(log), "-E", f"VJP_ISA={isa}",
           str(program), *arguments)
    executed = [int(address, 16) for address in re.findall(r"^Trace \d+: \S+ \[\w+/(\w+)/", log.read_text(), re.M)]
    log.unlink()
    return executed[executed.index(functions["run_begins"]):executed.index(functions["run_ends"])]


def assembly(text):
    """An instruction as the assembler takes it: branches go anywhere, for the list already has what follows."""
    text = re.sub(r" *(<.*>|//.*)$", "", text)
    return re.sub(r"^((?:b|bl|b\.\w+|cbn?z|tbn?z|adrp?)\t.*?)0x[0-9a-f]+$", r"\g<1>0", text)


def cycles(instructions, executed):
    source = BUILD / "trace.s"
    source.write_text("".join(assembly(instructions[address]) + "\n" for address in executed))
    shown = output("llvm-mca-19", "-mtriple=aarch64", f"-mcpu={CORE}", "-iterations=1", "-instruction-info=0",
                   "-resource-pressure=0", "-skip-unsupported-instructions=any", str(source))
    return int(re.search(r"^Total Cycles: *(\d+)", shown, re.M)[1])


def elements(shapes, size):
    return prod(int(dim) for dim in shapes.split()[0].replace("R", str(size)).split("x"))


def per_element(built, isa, dtype, operator, shapes, attributes, sizes):
    program, instructions, functions = built
    total = []
    for size in sizes:
        arguments = [operator, dtype, *shapes.replace("R", str(size)).split(), *attributes.split()]
        total.append(cycles(instructions, trace(program, functions, isa, arguments)))
    return (total[1] - total[0]) / (elements(shapes, sizes[1]) - elements(shapes, sizes[0]))


def row_of(built, name):
    row = [name]
    for dtype in DTYPES:
        scalar, neon = (per_element(built, isa, dtype, *CASES[name]) for isa in ISAS)
        row += [f"{scalar:.2f}", f"{neon:.2f}", f"{scalar / neon:.1f}"]
    return row


def line(row):
    return "| " + " | ".join(row) + " |"


def record(rows):
    """Put the table where the page and tests/site/figures.py expect it."""
    table = "\n".join([line(rows[0]), "|---|" + "---|" * (len(rows[0]) - 1), *map(line, rows[1:])])
    page = PAGE.read_text()
    shown = next(match[3] for match in results.TABLE.finditer(page) if match[1] == "arm-model")
    PAGE.write_text(page.replace(shown, table + "\n"))
    mca, gcc = (re.search(r"\d+\.[\d.]+", output(tool, "--version"))[0]
                for tool in ("llvm-mca-19", "aarch64-linux-gnu-gcc"))
    result = {"command": "make arm-model", "commit": results.output("git", "rev-parse", "--short", "HEAD"),
              "machine": f"none: llvm-mca {mca}'s model of {CORE}, gcc {gcc}",
              "tables": {"cycles": rows}, "values": {}}
    (results.RESULTS / "arm-model.json").write_text(results.written(result))


def main(names):
    built = build()
    rows = [["case"] + [f"{dtype}, {what}" for dtype in DTYPES for what in ("scalar", "NEON", "ratio")]]
    for name in names or CASES:
        rows.append(row_of(built, name))
        print(line(rows[-1]), flush=True)
    if not names:
        record(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
