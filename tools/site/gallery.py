# SPDX-License-Identifier: Apache-2.0
"""The gallery of operators, from the generated parts of their pages and the measured speeds."""

import json
import math
import re

ROW = re.compile(r"^\| \[(\w+)\]\(\1\.md\) \|.*\| `(.*)` \|$", re.M)
BOUND = re.compile(r"^\| `(\w+)`[^|]*\| [^|]*f32[^|]*\| ([^|]*?) \|$", re.M)


def operators(folder):
    """(name, formula) in the order of the library."""
    return [(name, formula.replace("\\|", "|")) for name, formula in ROW.findall((folder / "README.md").read_text())]


def elements(shape):
    return math.prod(map(int, shape.split("x")))


def speeds(results):
    """The largest f32 case of each operator on one thread: {operator: (case, share)}."""
    best = {}
    for line in results.read_text().splitlines():
        row = json.loads(line)
        if (row["who"], row["dtype"], row["threads"], row["pages"], row["layout"]) == ("vjp", "f32", 1, "huge", "plain"):
            size = elements(row["shape"])
            if size > best.get(row["op"], (0,))[0]:
                best[row["op"]] = size, row["case"], row["share"]
    return {op: (case, share) for op, (_, case, share) in best.items()}


def card(folder, name, formula, speed):
    page = (folder / f"{name}.md").read_text()
    facts = [f"f32 error: {text}" for _, text in BOUND.findall(page)[:1]]
    if speed:
        facts.append(f"Speed, {speed[0]} in f32 on one core: {100 * speed[1]:.0f} % of [the memory's bandwidth](performance.md)")
    return ['<div markdown="1">', "", f"[![Plot of {name}](operators/{name}.svg){{ loading=lazy }}](operators/{name}.md)", "",
            f"**[{name}](operators/{name}.md)**", "", f"`{formula}`", "",
            *(line for fact in facts for line in (fact, "{ .facts }", "")), "</div>", ""]


def page(docs):
    folder = docs / "operators"
    speed = speeds(docs / "performance" / "bench.json")
    names = operators(folder)
    out = ["# Gallery", "", f"All {len(names)} operators: plot, formula, error bound and, where it was measured, speed. "
           "ULP is the distance between two neighbouring numbers ([numerics](numerics.md)).", "",
           '<div class="gallery" markdown="1">', ""]
    for name, formula in names:
        out += card(folder, name, formula, speed.get(name))
    return "\n".join([*out, "</div>", ""])
