# SPDX-License-Identifier: Apache-2.0
"""Inputs, whether a peer is right, turns, ratios, and the table of them."""
import math
import pathlib
import statistics

import torch

from cases import DTYPES

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}  # of the largest result


def make_input(case, what, device):
    dtype = DTYPES[case.dtype]
    shape = case.slope if what == "slope" else case.shape
    t = torch.randn(shape, device=device, dtype=torch.float64 if case.dtype == "f64" else None)
    if what in ("sigmoid", "softmax"):
        t = t.sigmoid() if what == "sigmoid" else t.softmax(case.attrs["axis"])
    if case.name == "hard_sigmoid" and what == "src":
        t.masked_fill_((t.abs() - 3).abs() < 1e-4, 0)  # a kink: 1/6 is rounded, so sides may differ
    if case.slope and what == "diff_dst":
        t.add_(1).mul_(2 ** -10)  # its sums do not cancel, and fit in f16
    if case.channels_last and what == "diff_dst":
        t = t.contiguous(memory_format=torch.channels_last)
    return t.to(dtype)


def with_all_dims(case, inputs):
    """The inputs for peers that broadcast from the right."""
    return [t.view(case.slope_view) if what == "slope" else t
            for t, what in zip(inputs, case.inputs.split())]


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def verdict(peer, wanted, tolerance):
    """None if the peer agrees with vjp, else why not: "wrong", or its error."""
    if isinstance(peer, Exception):
        return f"refuses: {first_line(peer)}"
    try:
        for got, want in zip(peer(), wanted, strict=True):
            worst = (got.reshape(want.shape).double() - want.double()).abs().max().item()
            if not worst <= tolerance * want.double().abs().max().item():
                return "wrong"
    except Exception as error:  # any error of a peer is shown in the table
        return f"refuses: {first_line(error)}"
    return None


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0][:60]


def take_turns(calls, seconds, rounds):
    """A list of times for each; the order rotates, so that none always follows the same one."""
    names = list(calls)
    times = {name: [] for name in names}
    for i in range(rounds + 1):
        for name in names[i % len(names):] + names[:i % len(names)]:
            elapsed = seconds(calls[name])
            if i > 0:  # the first round warms up
                times[name].append(elapsed)
    return times


def best_peer(times, verdicts):
    """The fastest peer that agrees with vjp: its name, its time over vjp's as a ratio of medians and as the
    median of pairs."""
    medians = {name: statistics.median(t) for name, t in times.items()}
    rivals = {n: s for n, s in medians.items() if n != "vjp" and n not in verdicts}
    if not rivals:
        return {}
    best = min(rivals, key=rivals.get)
    pairs = [p / v for p, v in zip(times[best], times["vjp"])]
    return {"best": best, "ratio": medians[best] / medians["vjp"],
            "pairwise": statistics.median(pairs)}


def summary(rows):
    ratios = [r["pairwise"] for r in rows if "pairwise" in r]
    if not ratios:
        return f"\n{len(rows)} cases"
    return (f"\n{len(rows)} cases; best peer over vjp, median of pairs: geometric mean "
            f"{math.exp(statistics.fmean(map(math.log, ratios))):.3f}, least {min(ratios):.3f}")


# ---- the table ---------------------------------------------------------------------------------

def cells(row, names):
    """GB/s of each; "!" where its results differ from vjp's."""
    def cell(name):
        verdict_of = row["verdicts"].get(name, "")
        if name not in row["seconds"]:
            return verdict_of.split(":")[0] or "-"
        speed = row["bytes"] / row["seconds"][name] * 1e-9
        return f"{speed:.{0 if speed >= 100 else 1}f}" + ("!" if verdict_of else "")
    return "".join(f"{cell(name):>9}" for name in names)


LAYOUTS = {"plain": "", "diff_dst channels last": " mixed"}


def show(row, names):
    shape = "x".join(map(str, row["shape"])) + LAYOUTS[row["layout"]]
    best = f"{row['ratio']:8.3f} {row['pairwise']:8.3f}  {row['best']}" if "best" in row else ""
    print(f"{row['case']:24} {row['dtype']:5} {shape:20}" + cells(row, names)
          + f" {row['share']:7.1%} {row['seconds']['vjp'] * 1e6:9.1f} " + best, flush=True)
    for name, verdict_of in row["verdicts"].items():
        if verdict_of != "wrong":
            print(f"    {name} {verdict_of}", flush=True)


def show_head(names):
    print("GB/s of each (! differs from vjp); vjp's share of the ceiling and its time; the best "
          "peer's time\nover vjp's, of the medians and as the median of pairs\n")
    print(f"{'case':24} {'dtype':5} {'shape':20}" + "".join(f"{n:>9}" for n in names)
          + f" {'share':>7} {'us':>9} {'ratio':>8} {'pairs':>8}  best peer")


# ---- the command line --------------------------------------------------------------------------

def words(text):
    return text.split(",")


def shared_options(parser, groups, peers):
    parser.add_argument("--lib", type=pathlib.Path, default=ROOT / "build/release/libvjp.so")
    parser.add_argument("--cases", type=words, help=f"groups: {groups}")
    parser.add_argument("--dtypes", type=words, help="f32,f16,bf16,f64")
    parser.add_argument("--only", help="cases with this word in their name and shape")
    parser.add_argument("--peers", type=words, default=list(peers))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", dest="rounds", action="store_const", const=5, help="5 rounds")


def wanted(args, case):
    shape = "x".join(map(str, case.shape))
    return ((not args.cases or case.group in args.cases)
            and (not args.dtypes or case.dtype in args.dtypes)
            and (not args.only or args.only in f"{case.group} {case.name} {shape}"))
