#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""operator_names.py - operators are named in tools/, bench/ and tests/ only where ALLOWED says why.

Everything else takes operators from the enumeration, by their kinds, or from tests/support/samples.h,
so that a new operator is measured, checked and tested without another line. Prints each name that
is elsewhere, in a string or as an identifier, and each entry of ALLOWED that is not needed; fails if
there are any.
"""
import pathlib
import re
import sys

ALLOWED = {
    # other libraries' names for operators
    "bench/peers/": "the peers' tables",
    "bench/torch_cost.py": "a table of PyTorch's calls and ours",
    "tests/cuda_large.py": "formulas in PyTorch",
    "tests/dnnl_graph/": "kinds of oneDNN's Graph API",
    "tests/infiniop/": "operators of InfiniCore's API",
    # tests of these operators' own values
    "tests/exhaustive/exp.c": "the slope of the sigmoid, before diff_dst is multiplied in",
    "tests/exhaustive/named.c": "numbers that operators are known with under other names",
    "tests/large/main.c": "the formulas of a row operator and a sum, written out",
    "tests/support/family_edges.c": "edge values",
    "tests/test_api.c": "what the enumeration says of some operators, written down",
    "tests/test_edges.c": "edge values",
    "tests/test_edges_rows.c": "edge values",
    "tests/test_edges_sums.c": "edge values",
    "tests/test_lookups.c": "the operators that have tables, and values without an entry",
    "tests/test_oracle.c": "derivatives and roots, written out",
    "tests/tool/errors.sh": "results that are seen at a glance",
    "tests/test_refuse_attributes.c": "numbers that these operators refuse",
    # the rest
    "bench/arm_model/model.py": "an operator of each kind: a case of the model takes a minute",
    "tests/consumer/": "what a user writes, who has the installed files alone",
    "tests/rust.sh": "what an example prints",
    "tests/support/samples.h": "the operator of each kind that tests name",
    "tools/site/charts.py": "log: a scale of Matplotlib",
}

# Names that are also ordinary words or functions: only the whole of a string is an operator.
ORDINARY = set("abs clamp exp log reciprocal round sqrt square tanh threshold".split())

STRING = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
COMMENTS = {
    "c": r"//[^\n]*|/\*.*?\*/",
    "py": r'^[ \t]*"""(?:\\.|[^\\])*?"""|#[^\n]*',
    "sh": r"(?<!\S)#[^\n]*",
}
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "c", ".hpp": "c", ".cu": "c", ".cuh": "c", ".def": "c",
             ".py": "py", ".sh": "sh", ".bash": "sh", ".fish": "sh"}


def without_comments(text, language):
    """The text with blanks in the place of comments."""
    pattern = re.compile(f"({COMMENTS[language]})|{STRING}", re.DOTALL | re.MULTILINE)
    if language == "sh":  # an apostrophe need not begin a string
        pattern = re.compile(f"({COMMENTS[language]})")
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[1]) if m[1] else m[0], text)


def operators():
    """A pattern for the names and titles of src/ops/*.def; not for the names of files."""
    names = []
    for table in sorted(pathlib.Path("src/ops").glob("*.def")):
        for entry in re.findall(r'^OP\((\w+), "(\w+)"', table.read_text(), re.MULTILINE):
            names += entry
    if not names:
        sys.exit("src/ops has no operators")
    plain = "|".join(name for name in names if name.lower() not in ORDINARY)
    quoted = "|".join(ORDINARY)
    return re.compile(rf"(?<![\w/])(?:{plain})(?!\w)|(?<=[\"'])(?:{quoted})(?=[\"'])")


def main():
    pattern, used, wrong = operators(), set(), 0
    files = [path for top in ("tools", "bench", "tests") for path in sorted(pathlib.Path(top).rglob("*"))
             if path.suffix in LANGUAGES]
    for path in files:
        text = without_comments(path.read_text(), LANGUAGES[path.suffix])
        for match in pattern.finditer(text):
            allowed = [entry for entry in ALLOWED if str(path).startswith(entry)]
            used.update(allowed)
            if not allowed:
                print(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: names {match[0]}")
                wrong += 1
    for entry in sorted(set(ALLOWED) - used):
        print(f"{entry} names no operator, and need not be allowed to")
        wrong += 1
    print(f"{len(files)} files, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
