# SPDX-License-Identifier: Apache-2.0
"""Our declarations of XLA's foreign function interface are those of the header in jaxlib."""

import os
import re
import subprocess
from pathlib import Path

import jax

HEADER = Path(__file__).parents[2] / "src" / "xla_ffi.h"
OLD_NAMES = {  # before API 0.5
    "XLA_FFI_InternalExtension": "XLA_FFI_Extension_Base",
    "XLA_FFI_InvokeContext_Get": "XLA_FFI_ExecutionContext_Get",
    "XLA_FFI_Error_GetDetails": "XLA_FFI_Error_GetMessage",
}


def members():
    """(struct, field) of every struct in our header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    for name, body, alias in re.findall(r"struct (XLA_FFI_\w+) \{(.*?)\}\s*(\w*);", text, flags=re.S):
        for line in body.split(";"):
            field = re.search(r"\(\*(\w+)\)|(\w+)\s*$", line)
            if line.strip() and field:
                yield alias or name, field[1] or field[2]


def constants():
    text = HEADER.read_text()
    return re.findall(r"(XLA_FFI_\w+) = (\d+)", text)


def table(include, names, values):
    """A C program that prints the offset and size of each field, and each constant."""
    lines = [f'printf("%zu %zu\\n", offsetof({s}, {f}), sizeof((({s} *)0)->{f}));' for s, f in names]
    lines += [f'printf("%d\\n", (int){name});' for name in values]
    structs = "\n".join(f"typedef struct {s} {s};" for s in sorted({s for s, _ in names}))
    return f'#include <stdio.h>\n#include <stdbool.h>\n#include {include}\n{structs}\nint main(void) {{\n' + \
        "\n".join(lines) + "\n}\n"


def run(program, folder, name, options):
    source, binary = folder / f"{name}.c", folder / name
    source.write_text(program)
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", *options, str(source), "-o", str(binary)], check=True)
    return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


def test_layouts_and_constants(tmp_path):
    names, values = list(members()), [name for name, _ in constants()]
    assert len(names) > 80 and len(values) > 12
    ours = run(table(f'"{HEADER}"', names, values), tmp_path, "ours", [])
    include = Path(jax.ffi.include_dir())
    header = (include / "xla/ffi/api/c_api.h").read_text()
    program = table("<xla/ffi/api/c_api.h>", names, values)
    for new, old in OLD_NAMES.items():
        program = program if new in header else program.replace(new, old)
    theirs = run(program, tmp_path, "theirs", [f"-I{include}"])
    assert ours == theirs
