#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""avx2.py FOLDER [MACHINE [COMMIT]] - docs/results/avx2.json, and the tables of docs/performance.md that come from it,
from what bench/peers/capped.py left in FOLDER: avx2.json and all.json. By default the machine is what
FOLDER/machine.txt says (lscpu), else this one, and the commit the current one.

A case behind has its reason in avx2_reasons.txt: lines `PATTERN | reason`, of which the first whose pattern fits "case
dtype size" counts. A case without one, and a line that no case needs, is an error after the tables are written."""

import fnmatch
import json
import math
import re
import sys
from pathlib import Path

import results

PAGE = results.ROOT / "docs/performance.md"
REASONS = Path(__file__).parent / "avx2_reasons.txt"
SIZES = {"4 Ki": 2**12, "1 Mi": 2**20, "16 Mi": 2**24}
DTYPES = ("f32", "bf16", "f16")
RUNS = {"avx2": "AVX2", "all": "all"}
BEHIND = 0.97
COMMAND = "make bench-avx2"


# ---- what was measured -----------------------------------------------------------------------------------------------

def size_of(shape):
    """The size that a shape is nearest to."""
    elements = math.prod(int(dim) for dim in shape.split("x"))
    return min(SIZES, key=lambda size: abs(math.log2(elements / SIZES[size])))


def case_of(line):
    return line["case"] + ("" if line["layout"] == "plain" else f", {line['layout']}")


def best_peers(lines):
    """By case, dtype and size: the ratio and the name of the fastest peer that agrees with vjp. Of repeated
    measurements the last one counts."""
    last = {}
    for line in lines:
        if line["who"] != "vjp":
            last[case_of(line), line["dtype"], size_of(line["shape"]), line["who"]] = line
    best = {}
    for (*key, who), line in last.items():
        if "over_vjp" in line and "note" not in line:
            best[tuple(key)] = min(best.get(tuple(key), (math.inf, "")), (line["over_vjp"], who))
    return best


def in_order(runs):
    """The cases as vjp bench has them: those that were measured first come first."""
    return list(dict.fromkeys(case for best in runs.values() for case, _, _ in best))


# ---- tables ----------------------------------------------------------------------------------------------------------

def cell(best, case, dtype):
    """A ratio for each size; a dash where there is no case, or no peer."""
    found = [best.get((case, dtype, size)) for size in SIZES]
    return ", ".join(f"{one[0]:.2f}" if one else "-" for one in found) if any(found) else ""


def ratios(runs):
    yield ["case", *(f"{dtype}, {title}" for dtype in DTYPES for title in RUNS.values())]
    for case in in_order(runs):
        yield [case, *(cell(runs[run], case, dtype) for dtype in DTYPES for run in RUNS)]


def is_behind(best, key):
    return key in best and round(best[key][0], 4) < BEHIND


def behind(best, reasons):
    """One row for each case and dtype: the sizes at which it is behind."""
    yield ["case", "dtype", *SIZES, "behind", "why"]
    for case in in_order({"avx2": best}):
        for dtype in DTYPES:
            sizes = [size for size in SIZES if is_behind(best, (case, dtype, size))]
            if sizes:
                peers = sorted({best[case, dtype, size][1].split()[0] for size in sizes})
                whys = dict.fromkeys(reasons.of(case, dtype, size) for size in sizes)
                yield [case, dtype, *(f"{best[case, dtype, size][0]:.2f}" if size in sizes else "" for size in SIZES),
                       ", ".join(peers), "; ".join(whys)]


class Reasons:
    def __init__(self, path):
        lines = [line.split(" | ", 1) for line in path.read_text().splitlines() if line and not line.startswith("#")]
        self.lines, self.used, self.missing = lines, set(), []

    def of(self, *key):
        name = " ".join(key)
        for pattern, reason in self.lines:
            if fnmatch.fnmatchcase(name, pattern):
                self.used.add(pattern)
                return reason
        self.missing.append(name)
        return "not explained yet"

    def faults(self):
        yield from (f"no reason for {name}" for name in self.missing)
        yield from (f"no case needs the reason of {pattern}" for pattern, _ in self.lines if pattern not in self.used)


def values_of(best):
    total, slow = len(best), sum(is_behind(best, key) for key in best)
    return {"cases": f"{total} cases", "behind": f"{slow} cases"}


# ---- the page --------------------------------------------------------------------------------------------------------

def markdown(table):
    rows = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([rows[0], "|" + "---|" * len(table[0]), *rows[1:]]).replace("|  |", "| |").replace("|  |", "| |")


def fill(text, result):
    def table(match):
        name, key = match.group(1, 2)
        if name != "avx2":
            return match.group()
        return f"<!-- figures: avx2 {key} -->\n\n{markdown(result['tables'][key])}\n\n<!-- end of figures -->"

    def value(match):
        name, key = match.group(2, 3)
        return match.group() if name != "avx2" else f"{result['values'][key]}<!--=avx2 {key}-->"

    return results.VALUE.sub(value, results.TABLE.sub(table, text))


def machine_of(folder, lines):
    text = folder / "machine.txt"
    found = dict(re.findall(r"^(Model name|CPU\(s\)): *(.*)$", text.read_text(), re.M)) if text.exists() else {}
    machine = f"{found['Model name']}, {found['CPU(s)']} CPUs" if found else results.this_machine()
    peers = sorted({line["who"] for line in lines} - {"vjp"})
    pages = sorted({line["pages"] for line in lines})
    return f"{machine}; one thread, {' and '.join(pages)} pages; {', '.join(peers)}"


def main(folder, machine=None, commit=None):
    folder = Path(folder)
    lines = {run: [json.loads(line) for line in (folder / f"{run}.json").read_text().splitlines()] for run in RUNS}
    runs = {run: best_peers(of) for run, of in lines.items()}
    reasons = Reasons(REASONS)
    tables = {"ratios": list(ratios(runs)), "behind": list(behind(runs["avx2"], reasons))}
    result = {"command": COMMAND, "commit": commit or results.output("git", "rev-parse", "--short", "HEAD"),
              "machine": machine or machine_of(folder, lines["avx2"]), "tables": tables,
              "values": values_of(runs["avx2"])}
    (results.RESULTS / "avx2.json").write_text(results.written(result))
    PAGE.write_text(fill(PAGE.read_text(), result))
    faults = list(reasons.faults())
    total, slow = result["values"].values()
    print("\n".join([*faults, f"{total}, {slow} behind, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
