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
import os
import pathlib
import statistics
import sys
import time
from types import SimpleNamespace

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave torch some memory
import torch

from cases import DTYPES, all_cases, make_tiny
from compare import (TOLERANCE, best_peer, bytes_of, make_input, shared_options, show, show_head,
                     summary, take_turns, verdict, wanted, with_all_dims)
from vjp_ctypes import Vjp


# ---- its contenders ----------------------------------------------------------------------------

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


def peers_of(case, inputs, nbytes, names, jax):
    made = {}
    if "eager" in names:
        made["eager"] = lambda: case.eager(*inputs)
    if "compiled" in names:
        torch._dynamo.reset()
        function = torch.compile(widened(case.define, TORCH), dynamic=False, fullgraph=True)
        made["compiled"] = lambda: function(*inputs)
    if jax and (nbytes >= Jax.MIN_BYTES or not inputs[0].is_cuda):
        try:
            made["jax"] = Jax(jax, case, inputs)
        except Exception as error:
            made["jax"] = error
    return made


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


def ceiling(clock, device, rounds):
    count = (1 << 28) if device == "cuda" else 1 << 16
    a, b, c = (torch.ones(count, device=device) for _ in range(3))
    times = take_turns({"add": lambda: torch.add(a, b, out=c)}, clock.seconds, rounds)["add"]
    return 3 * 4 * count / statistics.median(times)


def measure(case, vjp, clock, names, jax, rounds):
    inputs = [make_input(case, what, vjp.device) for what in case.inputs.split()]
    outputs = [torch.empty(case.shape, device=vjp.device, dtype=DTYPES[case.dtype])]
    if case.slope:
        outputs.append(torch.empty_like(inputs[1]))
    nbytes = bytes_of(inputs + outputs)
    call = vjp.plan(case.op, case.attrs, inputs, outputs)
    call()
    peers = peers_of(case, with_all_dims(case, inputs), nbytes, names, jax)
    verdicts = {n: verdict(p, outputs, TOLERANCE[case.dtype]) for n, p in peers.items()}
    ready = {n: p for n, p in peers.items() if not (verdicts[n] or "").startswith("refuses")}
    times = take_turns({"vjp": call, **ready}, clock.seconds, rounds)
    call.close()
    return nbytes, times, {n: v for n, v in verdicts.items() if v}


# ---- the table ---------------------------------------------------------------------------------

COLUMNS = ("vjp", "eager", "compiled", "jax")


def row_of(case, nbytes, times, verdicts, top):
    medians = {name: statistics.median(t) for name, t in times.items()}
    return {"group": case.group, "case": case.name, "dtype": case.dtype, "shape": case.shape,
            "layout": case.layout, "bytes": nbytes, "seconds": medians, "verdicts": verdicts,
            "share": nbytes / medians["vjp"] / top, **best_peer(times, verdicts)}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared_options(parser, "maps,softmax,prelu,small,layouts", COLUMNS[1:])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows there as well")
    return parser.parse_args()


def main():
    args = parse()
    jax = None
    if "jax" in args.peers:
        try:
            jax = jax_words()
        except ImportError as error:
            print(f"without JAX: {error}")
    try:
        vjp = Vjp(args.lib, args.device)
    except (OSError, RuntimeError) as error:
        sys.exit(str(error))
    clock = Clock(args.device)
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    top = ceiling(clock, args.device, max(args.rounds, 15))
    print(f"{name}, torch {torch.__version__}, ceiling {top * 1e-9:.0f} GB/s")
    show_head(COLUMNS)
    rows = []
    for case in all_cases():
        if not wanted(args, case):
            continue
        if args.device == "cpu":
            make_tiny(case)
        rows.append(row_of(case, *measure(case, vjp, clock, args.peers, jax, args.rounds), top))
        show(rows[-1], COLUMNS)
        if args.device == "cuda":
            torch.cuda.empty_cache()
        if args.json:
            args.json.write_text(json.dumps({"device": name, "torch": torch.__version__,
                                             "ceiling": top, "rows": rows}, indent=1))
    if not rows:
        sys.exit("no case has that name")
    print(summary(rows))


if __name__ == "__main__":
    main()
