# SPDX-License-Identifier: Apache-2.0
"""Our declarations of XLA's foreign function interface are those of the header in jaxlib, and what
the handler for CUDA asks of XLA."""

import os
import re
import subprocess
from pathlib import Path

import jax
import pytest
import vjp

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


# ---- the handler for CUDA --------------------------------------------------------------------------

STARTED = ["context on device 1", "plan of relu_backward with 3 tensors"]


@pytest.fixture(scope="module")
def cuda_handler(tmp_path_factory):
    """The lines that the handler's calls of XLA and of the library print."""
    binary, source = tmp_path_factory.mktemp("handler") / "cuda_handler", HEADER.parent
    library, = (Path(vjp.__file__).parent / "lib").glob("libvjp.so*")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                    f"-I{source}", f"-I{source.parents[1] / 'include'}",
                    str(Path(__file__).with_name("cuda_handler.c")), str(source / "jax_ffi.c"),
                    str(source / "jax_threads.c"), str(library), f"-Wl,-rpath,{library.parent}",
                    "-pthread", "-o", str(binary)], check=True)
    return lambda *args: subprocess.run([str(binary), *map(str, args)], check=True, capture_output=True,
                                        text=True).stdout.splitlines()


def test_cuda_without_a_workspace(cuda_handler):
    assert cuda_handler(0, 0) == STARTED + ["run on the stream, workspace NULL of 0", "plan destroyed", "ok"]


def test_cuda_with_a_workspace(cuda_handler):
    """XLA refuses an alignment above 16."""
    assert cuda_handler(100, 0) == STARTED + [
        "allocate 100", "run on the stream, workspace given of 100", "free it of 100", "plan destroyed", "ok"]


def test_cuda_errors_free_the_workspace(cuda_handler):
    lines = ["allocate 100", "run on the stream, workspace given of 100", "free it of 100", "plan destroyed"]
    bad_argument, device_error = 1, 13
    assert cuda_handler(100, bad_argument) == STARTED + lines + ["error 3: relu_backward: src: is NULL"]
    assert cuda_handler(100, device_error) == STARTED + lines + [
        "error 13: relu_backward: the device's own words"]
