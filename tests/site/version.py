#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""version.py PREFIX SITE - the installed library and its program, packages and manual page, the Python package of
this interpreter, the site, the changelog and the docs all have the version of the header."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import vjp

ROOT = Path(__file__).parents[2]


def first(pattern, text):
    match = re.search(pattern, text, re.M)
    return match.group(1) if match else None


def output(*command, **environment):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment}).stdout


def one(folder, pattern):
    return next(folder.rglob(pattern))


def versions(prefix, site):
    pkg_config = {"PKG_CONFIG_PATH": str(one(prefix, "vjp.pc").parent)}
    yield "libvjp.so", first(r"libvjp\.so\.(\d+\.\d+\.\d+)$", one(prefix, "libvjp.so.*.*.*").name)
    yield "vjp --version", first(r"(\d+\.\d+\.\d+)", output(str(prefix / "bin/vjp"), "--version"))
    yield "pkg-config", output("pkg-config", "--modversion", "vjp", **pkg_config).strip()
    yield "CMake", first(r'set\(PACKAGE_VERSION "(.*)"\)', one(prefix, "vjpConfigVersion.cmake").read_text())
    yield "manual page", first(r"^\.Os vjp (.*)$", one(prefix, "vjp.1").read_text())
    yield "wheel", importlib.metadata.version("vjp")
    yield "vjp.__version__", vjp.__version__
    yield "site", first(r"vjp (\d+\.\d+\.\d+), Apache License", (site / "index.html").read_text())
    yield "site, manual page", first(r"vjp (\d+\.\d+\.\d+)", (site / "reference/program.html").read_text())
    yield "changelog", first(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text())


def main(prefix, site):
    header = (ROOT / "include/vjp/vjp.h").read_text()
    wanted = ".".join(first(rf"#define VJP_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH"))
    faults = [f"{what}: {found}, not {wanted}" for what, found in versions(Path(prefix), Path(site)) if found != wanted]
    minor = wanted.rsplit(".", 1)[0]
    faults += [f"{path}: find_package of another version than {minor}" for path in ("docs/build.md",)
               for found in re.findall(r"find_package\(vjp (\S+) ", (ROOT / path).read_text()) if found != minor]
    print("\n".join(faults) or wanted)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
