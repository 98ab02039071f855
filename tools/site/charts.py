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

# Stand-ins that become the reader's colours: ink and grid on a light or dark paper.
INK, GRID = "#010203", "#040506"
STYLE = """<style>svg{color:#1a1d21;--grid:#d5d8dc;--paper:#fff}
@media(prefers-color-scheme:dark){svg{color:#e4e6e9;--grid:#454a51;--paper:#1e2129}}</style>
<rect width="100%" height="100%" style="fill:var(--paper)"/>"""

# Colours and hatches that colour-blind readers can tell apart (Okabe and Ito's palette).
LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31"]
MARKERS = "osD^vPX*"
DTYPES = {"f32": ("#0072b2", ""), "bf16": ("#d55e00", "///"), "f16": ("#009e73", "xxx"), "f64": ("#cc79a7", "---")}
CACHES = {"L2": 1 << 20, "L3": 32 << 20}  # of the machine that docs/results/bench.json names
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


def finished(figure, axes, x, y, columns=2):
    """Labels, a light grid, and the legend below, where it leaves a phone's width to the lines."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=columns, frameon=False, fontsize=10)
    figure.subplots_adjust(left=0.12, right=0.98, top=0.97, bottom=0.36)
    return svg(figure)


def ratio(rows):
    """The best peer's time over ours at the largest size, for each dtype; bars end at 4."""
    best = {}
    for dtype in DTYPES:
        for case, chosen in largest(rows, dtype):
            peers_only = [row["over_vjp"] for who, row in chosen.items() if "over_vjp" in row]
            best.setdefault(case, {})[dtype] = min(peers_only)
    figure, axes = plt.subplots(figsize=(6.4, 0.8 * len(best) + 1.3))
    for index, values in enumerate(best.values()):
        for bar, (dtype, (colour, hatch)) in enumerate(DTYPES.items()):
            if dtype in values:
                at = index + (bar - 1.5) * 0.21
                axes.barh(at, min(values[dtype], 4), 0.2, color=colour, hatch=hatch)
                axes.text(min(values[dtype], 4) + 0.03, at, f"{values[dtype]:.2f}", va="center", fontsize=9)
    axes.axvline(1, color=INK, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(best)), list(best))
    axes.invert_yaxis()
    axes.set_xlim(0, 4.5)
    axes.set_xlabel("time of the best peer; vjp's is 1, bars end at 4")
    handles = [matplotlib.patches.Patch(facecolor=c, hatch=h, label=d) for d, (c, h) in DTYPES.items()]
    figure.legend(handles=handles, loc="upper center", ncols=4, frameon=False)
    figure.subplots_adjust(left=0.31, right=0.98, top=0.94, bottom=0.09)
    return svg(figure)


def over_size(rows):
    """{case: rows by size} of f32 on one thread, of the cases that were measured at many powers of two."""
    cases = {}
    for row in rows:
        size = elements(row)
        if (row["who"], row["dtype"], row["threads"], row["pages"], row["layout"]) == ("vjp", "f32", 1, "huge", "plain") \
                and size > 1 and size & (size - 1) == 0:
            cases.setdefault(row["case"], {})[size] = row
    return {case: sorted(sizes.items()) for case, sizes in cases.items() if len(sizes) >= 12}


def lines(axes, series):
    for index, (case, points) in enumerate(series.items()):
        axes.plot(*zip(*points), label=case, color=LINES[index % len(LINES)], marker=MARKERS[index % len(MARKERS)],
                  markersize=4, linewidth=1.5)


def binary(power):
    return f"{2 ** (power % 10)} {['', 'Ki', 'Mi', 'Gi'][power // 10]}".strip()


def size_axis(axes, powers, unit):
    axes.set_xscale("log", base=2)
    axes.set_xticks([2 ** p for p in powers], [binary(p) + unit for p in powers])
    axes.minorticks_off()


def moved(row):
    """Bytes read and written."""
    return round(row["gbps"] * row["median_ns"])


def bandwidth(rows):
    figure, axes = plt.subplots(figsize=(6.4, 4.8))
    cases = over_size(rows)
    lines(axes, {case: [(moved(row), row["gbps"]) for _, row in points] for case, points in cases.items()})
    first = next(iter(cases))
    axes.plot(*zip(*[(moved(row), row["ceiling_gbps"]) for _, row in cases[first]]), color=INK, linestyle="--",
              linewidth=1, label=f"ceiling of {first}")
    for name, size in CACHES.items():
        axes.axvline(size, color=INK, linewidth=0.8, linestyle=":")
        axes.text(size, axes.get_ylim()[1], f" {name}", va="top", fontsize=9)
    size_axis(axes, range(10, 33, 5), "B")
    return finished(figure, axes, "bytes read and written", "GB/s")


def growth(rows):
    figure, axes = plt.subplots(figsize=(6.4, 4.8))
    lines(axes, {case: [(size, row["median_ns"] / size) for size, row in points]
                 for case, points in over_size(rows).items()})
    size_axis(axes, range(6, 29, 4), "")
    axes.set_yscale("log")
    return finished(figure, axes, "elements", "ns per element")


def threads(rows):
    """One thread's time over that of the most threads measured, at the largest size in f32."""
    speeds, most = {}, 1
    for case, chosen in largest(rows, "f32"):
        alone = chosen["vjp"]
        times = {row["threads"]: row["median_ns"] for row in rows
                 if all(row[key] == alone[key] for key in ("who", "case", "dtype", "shape", "layout", "pages"))}
        most = max(times)
        speeds[case] = alone["median_ns"] / times[most]
    figure, axes = plt.subplots(figsize=(6.4, 0.4 * len(speeds) + 1.2))
    colour, _ = WHO["vjp"]
    axes.barh(range(len(speeds)), speeds.values(), 0.6, color=colour)
    for index, speed in enumerate(speeds.values()):
        axes.text(speed + 0.01, index, f"{speed:.2f}", va="center", fontsize=9)
    axes.axvline(1, color=INK, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(speeds)), list(speeds))
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.05)
    axes.set_xlabel(f"speed on {most} threads; one thread is 1")
    figure.subplots_adjust(left=0.31, right=0.98, top=0.98, bottom=0.12)
    return svg(figure)


CHARTS = {f"{draw.__name__}.svg": draw for draw in (peers, ratio, bandwidth, growth, threads)}


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
