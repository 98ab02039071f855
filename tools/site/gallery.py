# SPDX-License-Identifier: Apache-2.0
"""The gallery of operators, from the generated parts of their pages and the measured speeds."""

import json
import re

ROW = re.compile(r"^\| \[(\w+)\]\(\1\.md\) \|.*\| `(.*)` \|$", re.M)
BOUND = re.compile(r"^\| `(\w+)`[^|]*\| [^|]*f32[^|]*\| ([^|]*?) \|$", re.M)


def operators(folder):
    """(name, formula) in the order of the library."""
    return [(name, formula.replace("\\|", "|")) for name, formula in ROW.findall((folder / "README.md").read_text())]


def speeds(result, names):
    """The first case of each operator in f32: {operator: (what sets it apart, with all instructions, with AVX2)}. A
    case is the gradient's unless it says "forward" or there is none."""
    head, *rows = result["tables"]["ratios"]
    first = {}
    for row in rows:
        cells = dict(zip(head, row))
        name, forward, rest = re.match(r"(\w+)( forward)?,? ?(.*)", cells["case"]).groups()
        operator = f"{name}_backward" if not forward and f"{name}_backward" in names else name
        both = [cells[column].split(", ")[-1] for column in ("f32, all", "f32, AVX2")]
        first.setdefault(operator, (rest, *both))
    return first


def card(folder, name, formula, speed):
    page = (folder / f"{name}.md").read_text()
    facts = [f"f32 error: {text}" for _, text in BOUND.findall(page)[:1]]
    if speed:
        case, fast, avx2 = speed
        facts.append(f"f32 speed{case and ', '}{case}: [{fast}; with AVX2 {avx2}](performance.md#with-avx2-alone)")
    return ['<div markdown="1">', "", f"[![Plot of {name}](operators/{name}.svg){{ loading=lazy }}](operators/{name}.md)", "",
            f"**[{name}](operators/{name}.md)**", "", f"`{formula}`", "",
            *(line for fact in facts for line in (fact, "{ .facts }", "")), "</div>", ""]


def page(docs):
    folder = docs / "operators"
    names = operators(folder)
    speed = speeds(json.loads((docs / "results" / "avx2.json").read_text()), dict(names))
    out = ["# Gallery", "", f"All {len(names)} operators: plot, formula, error bound and, where it was measured, speed. "
           "ULP is the distance between two neighbouring numbers ([numerics](numerics.md)). "
           "Speed is relative to the faster of PyTorch and oneDNN, for 16 Mi elements on one core with AVX-512, "
           "and with all libraries limited to AVX2: above 1, vjp is faster ([performance](performance.md)).", "",
           '<div class="gallery" markdown="1">', ""]
    for name, formula in names:
        out += card(folder, name, formula, speed.get(name))
    return "\n".join([*out, "</div>", ""])
