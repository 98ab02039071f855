#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_standins.py TORCH_LIB OUT - libraries in place of CUDA's, so that torch runs without them.

The default wheel of torch for Linux loads CUDA's libraries, 2 GB of them, also on a machine without a
GPU. This script reads which functions torch's libraries import from them and compiles libraries of
those names in OUT in which every function returns 100, CUDA's code for "no device". With OUT in
LD_LIBRARY_PATH torch imports, and torch.cuda.is_available() is False. Versions of symbols are
reproduced, since the loader refuses a library without them.
"""
import collections
import pathlib
import re
import subprocess
import sys

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
CUDA_FUNCTION = re.compile(r"(__)?(p?nccl|cu|nv)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", path))


def versions_by_library(path):
    """{version: library} of the symbol versions that the file requires."""
    owner, library = {}, None
    for line in output("readelf", "-VW", path).splitlines():
        if file := re.search(r"Version: \d+\s+File: (\S+)", line):
            library = file[1]
        elif (name := re.search(r"Name: (\S+)\s+Flags", line)) and library:
            owner[name[1]] = library
    return owner


def imported_functions(path):
    """(name, version or "") of the undefined symbols that look like CUDA's."""
    for line in output("nm", "-D", "--undefined-only", "--with-symbol-versions", path).splitlines():
        name, _, version = line.split()[-1].partition("@")
        if CUDA_FUNCTION.match(name):
            yield name, version.lstrip("@")


def compile_library(folder, soname, functions):
    """functions: {version: names}; "" for names without a version."""
    source = folder / f"{soname}.c"
    names = sorted(set().union(*functions.values()))
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names))
    script = folder / f"{soname}.map"
    script.write_text("".join(
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(members))} }};\n"
        for version, members in functions.items() if version))
    versioned = [f"-Wl,--version-script={script}"] if any(functions) else []
    subprocess.run(["cc", "-w", "-fno-builtin", "-shared", "-fPIC", source, f"-Wl,-soname,{soname}",
                    *versioned, "-o", folder / soname], check=True)


def main(torch_lib, folder):
    torch_lib, folder = pathlib.Path(torch_lib), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    missing = set()
    imports = collections.defaultdict(lambda: collections.defaultdict(set))
    unversioned = set()
    for path in torch_lib.glob("*.so*"):
        missing |= {name for name in needed_libraries(path)
                    if CUDA_LIBRARY.match(name) and not (torch_lib / name).exists()}
        owner = versions_by_library(path)
        for name, version in imported_functions(path):
            if version in owner:
                imports[owner[version]][version].add(name)
            elif not version:
                unversioned.add(name)
    # A symbol without a version may come from any library; one that defines them all will do.
    cudart = next(name for name in missing if name.startswith("libcudart"))
    for soname in sorted(missing):
        functions = dict(imports[soname])
        if soname == cudart:
            functions[""] = unversioned
        compile_library(folder, soname, functions or {"": set()})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
