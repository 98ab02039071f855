#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""results.py record NAME COMMAND [MACHINE [COMMIT]] - store the figures that pages take from the result NAME, with
the command that measured them. By default the machine is this one and the commit the current one.

A result is a file docs/results/NAME.json: command, commit, machine, tables and values. A page shows a table of
it between

    <!-- figures: NAME TABLE -->
    <!-- end of figures -->

and a single figure as 104 s<!--=NAME VALUE-->: the text in front of the comment is the value. Tables that a
program writes from a larger file (`"file"` of the result) are between comments of their own.
tests/site/figures.py compares."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs/results"
TABLE = re.compile(r"^<!-- figures: (\S+) (\S+) -->\n\n(.*?)\n<!-- end of figures -->$", re.M | re.S)
VALUE = re.compile(r"((?:[\d.,]+(?: to | and |, | / ))*[\d.,]+(?: ?[A-Za-z%/µ]+){1,2}|[\d.]+x)<!--=(\S+) (\S+)-->")


def pages():
    """The pages of the site that are written by hand, and the README."""
    yield ROOT / "README.md"
    yield from (ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "conformance/README.md"))
    yield from sorted(path for path in (ROOT / "docs").rglob("*.md") if not path.name.startswith("notebook-"))


def prose_and_code(text):
    """The parts of a page in turn: prose, code, prose, ..."""
    return re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)


def load():
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def cells(table):
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.strip().splitlines()
            if not re.fullmatch(r"[|\- ]+", line) or not line.count("-")]


def source(result):
    """Where a figure comes from, in words."""
    return f"{result['command']} - {result['machine']} - commit {result['commit']}"


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def this_machine():
    model = re.search(r"^Model name: *(.*)$", output("lscpu"), re.M).group(1)
    return f"{model}, {output('nproc')} CPUs"


def written(result):
    """A result as JSON, a row of a table on a line of its own."""
    text = json.dumps({**result, "tables": {}}, indent=1, ensure_ascii=False)
    tables = ",\n".join(
        f"  {json.dumps(key)}: [\n" + ",\n".join("   " + json.dumps(row, ensure_ascii=False) for row in rows) + "\n  ]"
        for key, rows in result["tables"].items())
    return (text.replace('"tables": {}', f'"tables": {{\n{tables}\n }}') if tables else text) + "\n"


def record(name, command, machine=None, commit=None):
    tables, values = {}, {}
    for page in pages():
        text = "".join(prose_and_code(page.read_text())[::2])
        tables.update((key, cells(table)) for result, key, table in TABLE.findall(text) if result == name)
        values.update((key, value) for value, result, key in VALUE.findall(text) if result == name)
    if not tables and not values:
        sys.exit(f"no page has a figure of {name}")
    result = {"command": command, "commit": commit or output("git", "rev-parse", "--short", "HEAD"),
              "machine": machine or this_machine(), "tables": tables, "values": values}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(written(result))


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "record":
        sys.exit(__doc__)
    record(*sys.argv[2:])
