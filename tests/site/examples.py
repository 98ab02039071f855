#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py BUILD PREFIX - run every command and example of the README and the docs, as their readers would,
with the library in the build folder BUILD, installed in PREFIX. Those of not_run.txt are left out; each has its
reason there, and a line that no page needs is an error."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "conformance/README.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))

# What a line of a block starts with if it is a command.
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(make|cmake|ctest|cc|c\+\+|export|pip|python3?|pytest|vjp|cargo|apt-get|"
                     r"mkdocs|rpm|dpkg|sudo|cd|git|\./\S+|"
                     r"(?:build|scripts|bench|tools|tests|conformance|proofs|examples)/\S+(?!  +[^ #]))(?: |$)")
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+")
SNIPPET = re.compile(r'^--8<-- "([^":]+)(?::(\d*):(\d*))?"$', re.M)

# What the examples of a page take from the reader.
GIVEN = {"docs/python.md": """
import numpy
import vjp
src = diff_dst = dst = numpy.ones((4, 3, 3), "f4")
slope = numpy.ones(3, "f4")
label = numpy.zeros((4, 3), "i8")
"""}
STATEMENTS = "#include <vjp/vjp.h>\nvoid example(void);\nvoid example(void)\n{{\n{}\n}}\n"


class Block(NamedTuple):
    language: str  # "" if it is not fenced
    text: str
    expected: bool  # whether it shows what the commands before it print


def blocks(page):
    """The blocks of a page in order; snippets are put in."""
    text = (ROOT / page).read_text()
    found = [(m.start(), Block(m.group(2), dedent(m.group(3), len(m.group(1))), False)) for m in FENCE.finditer(text)]
    blank = FENCE.sub(lambda m: "x" * len(m.group()), text)
    for match in INDENTED.finditer(blank):
        before = blank[:match.start()].rstrip()
        block = dedent(match.group(), 4)
        if not blank[:match.start()].rstrip().rsplit("\n\n", 1)[-1].lstrip().startswith(("- ", "* ", "1. ")):
            found.append((match.start(), Block("", block, before.endswith("prints"))))
    return [block._replace(text=SNIPPET.sub(snippet, block.text)) for _, block in sorted(found)]


def dedent(text, width):
    return "".join(line[width:] if line.strip() else "\n" for line in text.splitlines(keepends=True))


def first_line(text):
    return text.strip().splitlines()[0]


def snippet(match):
    lines = (ROOT / match.group(1)).read_text().splitlines()
    return "\n".join(lines[int(match.group(2) or 1) - 1:int(match.group(3) or len(lines))])


class Runner:
    def __init__(self, build, prefix):
        self.prefix = Path(prefix).resolve()
        self.build = build
        self.not_run = dict(line.rsplit("  # ", 1) for line in
                            (Path(__file__).parent / "not_run.txt").read_text().splitlines()
                            if line and not line.startswith("#"))
        self.unused = set(self.not_run)
        self.count = 0
        self.failures = []

    def check(self, page, what, text, result):
        self.count += 1
        if result.returncode:
            self.failures.append(f"{page}: {what} failed:\n{text}\n{result.stdout}{result.stderr}")

    def skips(self, key):
        self.unused.discard(key)
        return key in self.not_run

    def page(self, page):
        with tempfile.TemporaryDirectory() as folder:
            self.page_in(page, Path(folder))

    def page_in(self, page, folder):
        found = blocks(page)
        if found:
            self.furnish(folder)
        printed = ""
        for block in found:
            if block.expected:
                missing = [line for line in block.text.splitlines() if line.strip() and line not in printed]
                if missing:
                    self.failures.append(f"{page}: no command prints\n" + "\n".join(missing))
            elif block.language == "python":
                self.python(page, block.text, folder)
            elif block.language in ("c", "cpp"):
                self.compile(page, block, folder)
            elif block.language == "cmake":
                self.cmake(page, block, folder)
            elif block.language:
                if not self.skips(f"{page}: {first_line(block.text)}"):
                    self.failures.append(f"{page}: not run: {block.language}\n{block.text}")
            else:
                printed += self.commands(page, block.text, folder)

    def python(self, page, text, folder):
        if not self.skips(f"{page}: {first_line(text)}"):
            source = GIVEN.get(page, "") + text
            self.check(page, "Python", source,
                       subprocess.run([sys.executable, "-c", source], cwd=folder, capture_output=True, text=True))

    def furnish(self, folder):
        """A folder as the pages assume it: the repository's files, an installed library, someone's program."""
        for path in ROOT.iterdir():
            if path.name not in (".git", "Makefile"):
                (folder / path.name).symlink_to(path)
        (folder / "vjp").symlink_to(self.prefix)
        shutil.copy(ROOT / "examples/gradient/sigmoid.c", folder / "app.c")
        for name in ("y.npy", "g.npy"):
            numpy.save(folder / name, numpy.full(3, 1 / 3, "f4"))

    def compile(self, page, block, folder):
        if self.skips(f"{page}: {first_line(block.text)}"):
            return
        text = block.text
        if "#include" not in text:
            text = STATEMENTS.format(text)
        source = folder / ("example.cpp" if block.language == "cpp" else "example.c")
        source.write_text(text)
        compat = f"-I{self.prefix}/include/vjp-compat"
        command = ["c++" if block.language == "cpp" else "cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                   f"-I{self.prefix}/include", compat, str(source)]
        self.check(page, block.language, text, subprocess.run(command, capture_output=True, text=True))

    def gradients(self):
        """The programs of the home page that need no framework print the same."""
        flags = {"": "vjp", "_infiniop": "vjp-infiniop", "_dnnl_graph": "vjp-dnnl-graph"}
        where = f"{self.prefix}/lib/pkgconfig:{self.prefix}/lib/vjp-compat"
        environment = {**os.environ, "PKG_CONFIG_PATH": where, "LD_LIBRARY_PATH": f"{self.prefix}/lib"}
        commands = [f"cc -o {{}} examples/gradient/sigmoid{name}.c $(pkg-config --cflags --libs {package}) && {{}}"
                    for name, package in flags.items()]
        commands.append("c++ -o {} examples/gradient/sigmoid.cpp $(pkg-config --cflags --libs vjp) && {}")
        commands.append(f"{sys.executable} examples/gradient/sigmoid.py")
        with tempfile.TemporaryDirectory() as folder:
            for command in commands:
                command = command.format(f"{folder}/program", f"{folder}/program")
                result = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
                if result.stdout != "1.96612 5 3.14981\n":
                    result.returncode = 1
                self.check("examples/gradient", "program", command, result)

    def cmake(self, page, block, folder):
        """Configure a project around these lines."""
        if self.skips(f"{page}: {first_line(block.text)}"):
            return
        head = "cmake_minimum_required(VERSION 3.21)\nproject(app C)\nadd_executable(app app.c)\n"
        find, rest = block.text.split("\n", 1)
        project = folder / "project"
        project.mkdir()
        shutil.copy(folder / "app.c", project)
        (project / "CMakeLists.txt").write_text(head + find + "\n" + rest)
        command = f"cmake -S . -B out -DCMAKE_PREFIX_PATH={self.prefix} && cmake --build out && out/app"
        self.check(page, "cmake", block.text,
                   subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True))

    def commands(self, page, text, folder):
        """Run the commands of a block in one shell; lines after `$ command` are what it prints."""
        lines = re.sub(r"\\\n *", "", text).splitlines()
        session = any(line.startswith("$ ") for line in lines)
        script = ["set -e"]
        for line in lines:
            command = re.sub(r"\s+# .*$", "", line.removeprefix("$ ")).strip()
            if (line.startswith("$ ") or not session and COMMAND.match(line)) and not self.skips(command):
                script.append(self.translated(command, session))
        if len(script) == 1:
            return ""
        if "vjp-infiniop" in text or "vjp-dnnl-graph" in text:
            kind = "infiniop" if "vjp-infiniop" in text else "dnnl_graph"
            shutil.copy(ROOT / f"examples/gradient/sigmoid_{kind}.c", folder / "program.c")
            script.append("./a.out")
        environment = {**os.environ, "HOME": str(folder), "PATH": f"{self.prefix}/bin:{os.environ['PATH']}",
                       "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig",
                       "LD_LIBRARY_PATH": f"{self.prefix}/lib"}  # as if it were in /usr/local
        result = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment,
                                capture_output=True, text=True)
        self.check(page, "command", "\n".join(script[1:]), result)
        if session:
            self.compare(page, lines, result.stdout)
        return result.stdout

    def translated(self, command, session):
        """make and the build's own programs run in the repository, with the build that is tested. This interpreter
        has the packages of build/vectors."""
        command = command.replace("build/vectors/bin/python ", f"{sys.executable} ")
        command = command.replace("PREFIX/", f"{self.prefix}/").replace("build/release", self.build)
        if command.startswith("make"):
            return f"make -C {ROOT} {command.removeprefix('make')}"
        return f"{{ {command}; }} 2>&1 || true" if session else command

    def compare(self, page, lines, printed):
        """What a session shows is printed, in this order; `...` ends it."""
        wanted = [line for line in lines if line and not line.startswith("$ ") and line != "..."]
        at = 0
        for line in printed.splitlines():
            if at < len(wanted) and line == wanted[at]:
                at += 1
        if at < len(wanted):
            self.failures.append(f"{page}: the session does not print\n{wanted[at]}\nbut\n{printed}")


def main(build, prefix):
    runner = Runner(build, prefix)
    runner.gradients()
    for page in PAGES:
        runner.page(page)
    runner.failures += [f"not_run.txt: no page has {key}" for key in sorted(runner.unused)]
    print("\n\n".join(runner.failures))
    print(f"{runner.count} examples run, {len(runner.not_run)} not, {len(runner.failures)} failures")
    sys.exit(1 if runner.failures else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
