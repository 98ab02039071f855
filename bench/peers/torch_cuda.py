#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vjp beside PyTorch (eager and compiled) and JAX on one GPU: one process, one table.

All contenders work on the same tensors, take turns, and are checked against vjp first. A turn is
one call between two CUDA events on torch's current stream, after 256 MiB were written to flush the
caches; JAX has a stream of its own, so it is timed by the clock over a few calls, and on large
cases only. GB/s counts every input read once and every output written once; the ceiling is
torch.add of two arrays of 1 GiB into a third, measured in the same run.

    bench/peers/torch_cuda.py --cases softmax --dtypes bf16 --json softmax.json
    bench/peers/torch_cuda.py --device cpu         # tiny shapes: does it work at all?
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time
from types import SimpleNamespace

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave torch some memory
import torch

from cases import DTYPES, all_cases, make_tiny
from vjp_ctypes import Vjp

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}  # of the largest result


# ---- its tensors, its contenders ---------------------------------------------------------------

def make_input(case, what, device):
    dtype = DTYPES[case.dtype]
    shape = case.slope if what == "slope" else case.shape
    t = torch.randn(shape, device=device, dtype=torch.float64 if case.dtype == "f64" else None)
    if what in ("sigmoid", "softmax"):
        t = t.sigmoid() if what == "sigmoid" else t.softmax(case.attrs["axis"])
    if case.name == "hard_sigmoid" and what == "src":
        t.masked_fill_((t.abs() - 3).abs() < 1e-4, 0)  # a kink: 1/6 is rounded, so sides may differ
    if case.channels_last and what == "diff_dst":
        t = t.contiguous(memory_format=torch.channels_last)
    return t.to(dtype)


def widened(define, m):
    """The definition, computed in f32 where inputs have 16 bits."""
    def compute(*inputs):
        dtype = inputs[0].dtype
        wide = inputs if dtype == m.float64 else [m.cast(t, m.float32) for t in inputs]
        return tuple(m.cast(r, dtype) for r in define(m, *wide))
    return compute


TORCH = SimpleNamespace(where=torch.where, sigmoid=torch.sigmoid, float32=torch.float32,
                        float64=torch.float64, cast=lambda t, dtype: t.to(dtype))


def jax_words():
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    return SimpleNamespace(jit=jax.jit, load=jnp.from_dlpack, wait=jax.block_until_ready,
                           where=jnp.where, sigmoid=jax.nn.sigmoid, float32=jnp.float32,
                           float64=jnp.float64, cast=lambda t, dtype: t.astype(dtype))


class Jax:
    """Calls that are timed by the clock, since their stream is not torch's."""
    CALLS = 4
    MIN_BYTES = 64 << 20

    def __init__(self, words, case, inputs):
        self.words = words
        self.function = words.jit(widened(case.define, words))
        self.inputs = [words.load(t) for t in inputs]

    def __call__(self):
        return tuple(torch.from_dlpack(r) for r in self.words.wait(self.function(*self.inputs)))

    def seconds(self):
        start = time.perf_counter()
        self.words.wait([self.function(*self.inputs) for _ in range(self.CALLS)])
        return (time.perf_counter() - start) / self.CALLS


def peers_of(case, inputs, nbytes, names, words):
    made = {}
    if "eager" in names:
        made["eager"] = lambda: case.eager(*inputs)
    if "compiled" in names:
        torch._dynamo.reset()
        function = torch.compile(widened(case.define, TORCH), dynamic=False, fullgraph=True)
        made["compiled"] = lambda: function(*inputs)
    if words and (nbytes >= Jax.MIN_BYTES or not inputs[0].is_cuda):
        try:
            made["jax"] = Jax(words, case, inputs)
        except Exception as error:
            made["jax"] = error
    return made


def verdict(peer, wanted, tolerance):
    """None if the peer agrees with vjp, else a word why not: "wrong", or what it refuses with."""
    if isinstance(peer, Exception):
        return f"refuses: {first_line(peer)}"
    try:
        for got, want in zip(peer(), wanted):
            worst = (got.reshape(want.shape).double() - want.double()).abs().max().item()
            if not worst <= tolerance * want.double().abs().max().item():
                return "wrong"
    except Exception as error:  # whatever a peer throws: it is shown, and the table goes on
        return f"refuses: {first_line(error)}"
    return None


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0][:60]


# ---- time --------------------------------------------------------------------------------------

class Clock:
    def __init__(self, device):
        self.cuda = device == "cuda"
        self.flush = torch.empty((256 << 20) if self.cuda else 1, dtype=torch.uint8, device=device)

    def seconds(self, call):
        self.flush.zero_()
        if isinstance(call, Jax):
            self.synchronize()
            return call.seconds()
        if not self.cuda:
            start = time.perf_counter()
            call()
            return time.perf_counter() - start
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def take_turns(self, calls, rounds):
        """A list of times for each; the order turns, so that nobody always follows the same one."""
        names = list(calls)
        times = {name: [] for name in names}
        for i in range(rounds + 1):
            for name in names[i % len(names):] + names[:i % len(names)]:
                elapsed = self.seconds(calls[name])
                if i > 0:  # the first round warms up
                    times[name].append(elapsed)
        return times


def ceiling(clock, device, rounds):
    count = (1 << 28) if device == "cuda" else 1 << 16
    a, b, c = (torch.ones(count, device=device) for _ in range(3))
    times = clock.take_turns({"add": lambda: torch.add(a, b, out=c)}, rounds)["add"]
    return 3 * 4 * count / statistics.median(times)


def measure(case, vjp, clock, names, words, rounds):
    inputs = [make_input(case, what, vjp.device) for what in case.inputs.split()]
    outputs = [torch.empty(case.shape, device=vjp.device, dtype=DTYPES[case.dtype])]
    if case.slope:
        outputs.append(torch.empty_like(inputs[1]))
    nbytes = sum(t.numel() * t.element_size() for t in inputs + outputs)
    call = vjp.plan(case.op, case.attrs, inputs + outputs)
    call()
    theirs = [t.view(case.slope_view) if what == "slope" else t
              for t, what in zip(inputs, case.inputs.split())]
    peers = peers_of(case, theirs, nbytes, names, words)
    verdicts = {n: verdict(p, outputs, TOLERANCE[case.dtype]) for n, p in peers.items()}
    ready = {n: p for n, p in peers.items() if not (verdicts[n] or "").startswith("refuses")}
    times = clock.take_turns({"vjp": call, **ready}, rounds)
    call.close()
    return nbytes, times, {n: v for n, v in verdicts.items() if v}


# ---- the table ---------------------------------------------------------------------------------

COLUMNS = ("vjp", "eager", "compiled", "jax")


def row_of(case, nbytes, times, verdicts, top):
    medians = {name: statistics.median(t) for name, t in times.items()}
    row = {"group": case.group, "case": case.name, "dtype": case.dtype, "shape": case.shape,
           "bytes": nbytes, "seconds": medians, "verdicts": verdicts,
           "share": nbytes / medians["vjp"] / top}
    rivals = {n: s for n, s in medians.items() if n != "vjp" and n not in verdicts}
    if rivals:
        best = min(rivals, key=rivals.get)
        pairs = [p / v for p, v in zip(times[best], times["vjp"])]
        row.update(best=best, ratio=medians[best] / medians["vjp"],
                   pairwise=statistics.median(pairs))
    return row


def show(row):
    def cell(name):
        verdict_of = row["verdicts"].get(name, "")
        if name not in row["seconds"]:
            return verdict_of.split(":")[0] or "-"
        speed = row["bytes"] / row["seconds"][name] * 1e-9
        return f"{speed:.{0 if speed >= 100 else 1}f}" + ("!" if verdict_of else "")
    shape = "x".join(map(str, row["shape"])) + (" mixed" if row["group"] == "layouts" else "")
    best = f"{row['ratio']:8.3f} {row['pairwise']:8.3f}  {row['best']}" if "best" in row else ""
    print(f"{row['case']:22} {row['dtype']:5} {shape:20}"
          + "".join(f"{cell(name):>9}" for name in COLUMNS)
          + f" {row['share']:7.1%} {row['seconds']['vjp'] * 1e6:9.1f} " + best, flush=True)
    for name, verdict_of in row["verdicts"].items():
        if verdict_of != "wrong":
            print(f"    {name} {verdict_of}", flush=True)


def parse():
    def words(text):
        return text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lib", type=pathlib.Path, default=ROOT / "build/release/libvjp.so")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--cases", type=words, help="groups: maps,softmax,prelu,small,layouts")
    parser.add_argument("--dtypes", type=words, help="f32,f16,bf16,f64")
    parser.add_argument("--only", help="cases with this word in their name and shape")
    parser.add_argument("--peers", type=words, default=list(COLUMNS[1:]))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="5 rounds")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows there as well")
    return parser.parse_args()


def main():
    args = parse()
    rounds = 5 if args.quick else args.rounds
    words = None
    if "jax" in args.peers:
        try:
            words = jax_words()
        except ImportError as error:
            print(f"without JAX: {error}")
    try:
        vjp = Vjp(args.lib, args.device)
    except (OSError, RuntimeError) as error:
        sys.exit(str(error))
    clock = Clock(args.device)
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    top = ceiling(clock, args.device, max(rounds, 15))
    print(f"{name}, torch {torch.__version__}, ceiling {top * 1e-9:.0f} GB/s\n"
          "GB/s of each (! differs from vjp); vjp's share of the ceiling and its time; the best "
          "peer's time\nover vjp's, of the medians and as the median of pairs\n")
    print(f"{'case':22} {'dtype':5} {'shape':20}" + "".join(f"{n:>9}" for n in COLUMNS)
          + f" {'share':>7} {'us':>9} {'ratio':>8} {'pairs':>8}  best peer")
    rows = []
    for case in all_cases():
        shape = "x".join(map(str, case.shape))
        if ((args.cases and case.group not in args.cases)
                or (args.dtypes and case.dtype not in args.dtypes)
                or (args.only and args.only not in f"{case.group} {case.name} {shape}")):
            continue
        if args.device == "cpu":
            make_tiny(case)
        rows.append(row_of(case, *measure(case, vjp, clock, args.peers, words, rounds), top))
        show(rows[-1])
        if args.device == "cuda":
            torch.cuda.empty_cache()
        if args.json:
            args.json.write_text(json.dumps({"device": name, "torch": torch.__version__,
                                             "ceiling": top, "rows": rows}, indent=1))
    if not rows:
        sys.exit("no case has that name")
    ratios = [r["pairwise"] for r in rows if "pairwise" in r]
    if ratios:
        print(f"\n{len(rows)} cases; best peer over vjp, median of pairs: geometric mean "
              f"{math.exp(statistics.fmean(map(math.log, ratios))):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
