#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""charts.py [--check] - draw the charts of docs/performance from the results there, or compare them with the
checked-in ones."""

import io
import json
import math
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = Path(__file__).parents[2] / "docs/performance"

# Stand-ins that become the reader's colours: ink and grid of light and dark pages.
INK, GRID = "#010203", "#040506"
STYLE = """<style>svg{color:#1a1d21;--grid:#d5d8dc}
@media(prefers-color-scheme:dark){svg{color:#e4e6e9;--grid:#454a51}}</style>"""

# Colours and hatches that colour-blind readers can tell apart (Okabe and Ito's palette).
WHO = {"vjp": ("#0072b2", ""), "PyTorch": ("#e69f00", "///"), "oneDNN": ("#009e73", "xxx")}

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "vjp", "font.family": "sans-serif", "font.size": 11,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "hatch.color": "#ffffff", "hatch.linewidth": 1.0, "figure.facecolor": "none", "axes.facecolor": "none",
    "axes.spines.top": False, "axes.spines.right": False,
})


def svg(figure):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', ' role="img"', text, count=1)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--grid)")
    return text.replace(">", ">\n" + STYLE, 1)


def elements(row):
    return math.prod(map(int, row["shape"].split("x")))


def largest(rows, dtype):
    """{case: {who: row}} at the largest size, one thread, huge pages, plain layout; cases with a peer."""
    cases = {}
    for row in rows:
        if (row["dtype"], row["threads"], row["pages"], row["layout"]) == (dtype, 1, "huge", "plain") and \
                "median_ns" in row:
            cases.setdefault(row["case"], []).append(row)
    for case, group in cases.items():
        size = max(elements(row) for row in group if "over_vjp" in row) if any("over_vjp" in r for r in group) else 0
        chosen = {row["who"].split()[0]: row for row in group if elements(row) == size}
        if len(chosen) > 1 and size > 1 << 25:
            yield case, chosen


def peers(rows):
    """Speed beside the peers: vjp is 1, longer is better."""
    cases = list(largest(rows, "f32"))
    figure, axes = plt.subplots(figsize=(6.4, 0.62 * len(cases) + 1.2))
    for index, (case, chosen) in enumerate(cases):
        for bar, (who, (colour, hatch)) in enumerate(WHO.items()):
            if who not in chosen:
                continue
            speed = 1 / chosen[who].get("over_vjp", 1)
            at = index + (bar - 1) * 0.27
            axes.barh(at, speed, 0.25, color=colour, hatch=hatch, label=who if index == 0 else None)
            if who != "vjp":
                axes.text(speed + 0.01, at, f"{speed:.2f}", va="center", fontsize=9)
    axes.set_yticks(range(len(cases)), [case for case, _ in cases])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.05)
    axes.set_xlabel("speed of the backward pass; vjp is 1, longer is faster")
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    handles = [matplotlib.patches.Patch(facecolor=c, hatch=h, label=w) for w, (c, h) in WHO.items()]
    figure.legend(handles=handles, loc="upper center", ncols=3, frameon=False)
    figure.subplots_adjust(left=0.31, right=0.98, top=0.93, bottom=0.1)
    return svg(figure)


CHARTS = {"peers.svg": peers}


def main(arguments):
    rows = [json.loads(line) for line in (FOLDER / "bench.json").read_text().splitlines()]
    stale = 0
    for name, draw in CHARTS.items():
        path = FOLDER / name
        if arguments == ["--check"]:
            if not path.exists() or path.read_text() != draw(rows):
                print(f"{path} is not what {FOLDER / 'bench.json'} gives: run `make charts`")
                stale += 1
        else:
            path.write_text(draw(rows))
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
