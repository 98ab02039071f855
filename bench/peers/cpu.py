#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vjp beside PyTorch and oneDNN on the CPU: one process, one table.

All work on the same buffers with as many threads, take turns, and are checked against vjp first.
A turn is one call that is not timed, then at least 200 us of calls. Those of vjp and oneDNN are
timed in C (repeat.c). PyTorch's are timed in Python, and nothing is subtracted: below some 64 Ki
elements much of its time is what a call from Python costs. PyTorch writes into the given buffers
too, except for PReLU, where it has no such call: there malloc gives it memory that it used before.
GB/s counts every input read once and every output written once; the ceiling (two reads, one write
of the same buffers, by the fastest way that `vjp bench` knows) takes its turn as well.

    make bench-peers ARGS="--threads 2 --json build/peers.json"
    build/release/vjp bench --shape 1 --json build/peers.json --html build/peers.html

oneDNN is the one in the folder ONEDNN_ROOT, if that is set: pip has an old one for OpenMP.
A file of --json is for one kind of --pages: lines do not replace others that differ in it alone.
"""
import argparse
import ctypes
import gc
import json
import math
import mmap
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch

import onednn_ctypes as dnnl
from cases import CPU_SIZES, DTYPES, aten, cpu_cases
from compare import (ROOT, TOLERANCE, best_peer, bytes_of, make_input, shared_options, show,
                     show_head, span, summary, take_turns, verdict, wanted, with_all_dims, words)
from vjp_ctypes import Vjp

COLUMNS = ("vjp", "PyTorch", "oneDNN")
CEILINGS = 4  # as bench_ceiling.h has it


# ---- memory ------------------------------------------------------------------------------------

class Pages:
    """Tensors in memory of huge pages, or of ordinary ones."""
    HUGE = 2 << 20

    def __init__(self, kind):
        self.advice = mmap.MADV_HUGEPAGE if kind == "huge" else mmap.MADV_NOHUGEPAGE

    def like(self, tensor):
        """A tensor of the same dtype, shape and strides, not yet filled."""
        count = span(tensor)
        size = count * tensor.element_size()
        block = mmap.mmap(-1, size + self.HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        block.madvise(self.advice)
        start = ctypes.addressof(ctypes.c_char.from_buffer(block))
        flat = torch.frombuffer(block, dtype=tensor.dtype, count=count, offset=-start % self.HUGE)
        return flat.as_strided(tensor.shape, tensor.stride())

    def copy(self, tensor):
        copied = self.like(tensor)
        flat = (span(tensor),), (1,)
        copied.as_strided(*flat).copy_(tensor.as_strided(*flat))
        return copied


# ---- contenders --------------------------------------------------------------------------------

class InC:
    """A call that repeat.c repeats; `before` are its arguments ahead of the call's own."""

    def __init__(self, repeat, before, call, results):
        self.repeat, self.before, self.call, self.results = repeat, before, call, results

    def __call__(self):
        self.call()
        return self.results

    def seconds(self, n):
        elapsed = self.repeat(*self.before, *self.call.arguments, n)
        if elapsed < 0:
            raise RuntimeError("a call that worked fails now")
        return elapsed


class InPython:
    def __init__(self, call):
        self.call = call

    def __call__(self):
        return self.call()

    def seconds(self, n):
        call = self.call
        start = time.perf_counter()
        for _ in range(n):
            call()
        return time.perf_counter() - start


def torch_call(case, inputs, outputs, pages):
    dx = outputs[0]
    if case.op == "prelu_backward":
        return lambda: case.eager(*inputs)
    a, b = inputs
    if case.op == "softmax_backward":
        axis = case.attrs["axis"]
        return lambda: (aten._softmax_backward_data.out(a, b, axis, b.dtype, grad_input=dx),)
    if case.op == "relu_backward":
        return lambda: (aten.threshold_backward.grad_input(b, a, 0, grad_input=dx),)
    if case.op == "hard_sigmoid_backward":
        return lambda: (aten.hardsigmoid_backward.grad_input(b, a, grad_input=dx),)
    if case.attrs["use_dst"]:
        return lambda: (aten.sigmoid_backward.grad_input(b, a, grad_input=dx),)
    y = pages.like(a)
    return lambda: (aten.sigmoid_backward.grad_input(b, aten.sigmoid.out(a, out=y), grad_input=dx),)


ELTWISE = {"relu": (dnnl.RELU, dnnl.SRC), "sigmoid from src": (dnnl.LOGISTIC, dnnl.SRC),
           "sigmoid from dst": (dnnl.LOGISTIC_FROM_DST, dnnl.DST),
           "hard_sigmoid": (dnnl.HARD_SIGMOID, dnnl.SRC)}


def onednn_call(library, case, inputs, outputs):
    if case.op == "prelu_backward":
        return library.prelu(*inputs, outputs[0], outputs[1].view(case.slope_view))
    if case.op == "softmax_backward":
        return library.softmax(case.attrs["axis"], *inputs, *outputs)
    return library.eltwise(*ELTWISE[case.name], *inputs, *outputs,
                           case.attrs.get("alpha", 0.0), case.attrs.get("beta", 0.0))


class Contenders:
    """The libraries, and what repeats their calls."""

    def __init__(self, args):
        self.names = args.peers
        self.pages = Pages(args.pages)
        self.vjp = Vjp(args.lib, "cpu", args.threads)
        self.onednn = dnnl.OneDNN() if "oneDNN" in self.names else None
        self.threads = args.threads
        self.repeat = build_repeat()

    def ours(self, case, tensors, outputs):
        return InC(self.repeat.repeat_vjp, (self.vjp.lib.vjp_plan_run,),
                   self.vjp.plan(case.op, case.attrs, tensors), outputs)

    def peers(self, case, inputs, outputs):
        made = {}
        if "PyTorch" in self.names:
            made["PyTorch"] = InPython(torch_call(case, inputs, outputs, self.pages))
        if self.onednn:
            functions = self.onednn.lib.dnnl_primitive_execute, self.onednn.lib.dnnl_stream_wait
            try:
                made["oneDNN"] = InC(self.repeat.repeat_onednn, functions,
                                     onednn_call(self.onednn, case, inputs, outputs), outputs)
            except RuntimeError as error:
                made["oneDNN"] = error
        return made

    def ceiling(self, inputs, outputs):
        """The fastest version on one or on all threads, and the bytes that a call moves."""
        data = [t for t in inputs if span(t) == span(outputs[0])]
        size = bytes_of(outputs[:1])
        pointers = [t.data_ptr() for t in (outputs[0], data[0], data[-1])]
        versions = []
        for version in range(CEILINGS):
            for threads in {1, self.threads}:
                triad = InC(self.repeat.repeat_ceiling, (), lambda: None, None)
                triad.call.arguments = (version, *pointers, size, threads)
                try:
                    n = repetitions(triad)
                except RuntimeError:  # an instruction set that this machine does not have
                    continue
                versions.append((min(triad.seconds(n) / n for _ in range(3)), triad))
        return min(versions, key=lambda v: v[0])[1], (len(data) + 1) * size


def build_repeat():
    made = ROOT / "build/peers/librepeat.so"
    sources = ROOT / "bench/peers/repeat.c", ROOT / "tools/vjp/bench_ceiling.c"
    made.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-std=c11", "-O2", "-fopenmp", "-shared", "-fPIC", "-o", made, *sources,
                    "-I", ROOT / "include", "-I", ROOT / "tools/vjp"], check=True)
    lib = ctypes.CDLL(str(made))
    pointer, number, count = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    lib.repeat_vjp.argtypes = [pointer] * 4 + [ctypes.c_size_t, count]
    lib.repeat_onednn.argtypes = [pointer] * 4 + [number, pointer, count]
    lib.repeat_ceiling.argtypes = [number] + [pointer] * 3 + [count, number, count]
    for function in (lib.repeat_vjp, lib.repeat_onednn, lib.repeat_ceiling):
        function.restype = ctypes.c_double
    return lib


# ---- time --------------------------------------------------------------------------------------

def repetitions(contender):
    """How many calls make a turn, by the faster of two."""
    once = min(contender.seconds(1), contender.seconds(1))
    return max(1, math.ceil(200e-6 / max(once, 1e-9)))


class Clock:
    def __init__(self, threads, contenders):
        self.threads = threads
        self.calls = {c: repetitions(c) for c in contenders}

    def seconds(self, contender):
        n = self.calls[contender]
        if self.threads > 1:
            time.sleep(5e-3)  # the threads of the last one's OpenMP spin for a while
        if n > 1 or self.threads > 1:
            contender.seconds(1)
        return contender.seconds(n) / n

    def rounds(self, contenders, most):
        """Fewer, but 5, where a round takes seconds: some peers have cases a hundred times slow."""
        round_time = sum(self.seconds(c) for c in contenders)
        return min(most, max(5, int(30 / round_time)))


def checked(peer, outputs):
    """A call whose results cannot be those of the call before."""
    if isinstance(peer, Exception):
        return peer

    def call():
        for t in outputs:
            t.fill_(math.nan)
        return peer()
    return call


def measure(case, contenders, rounds):
    pages = contenders.pages
    inputs = [pages.copy(make_input(case, what, "cpu")) for what in case.inputs.split()]
    outputs = [pages.like(torch.empty(case.shape, dtype=DTYPES[case.dtype]))]
    if case.slope:
        outputs.append(pages.like(inputs[1]))
    ours = contenders.ours(case, inputs + outputs, outputs)
    wanted_results = [t.clone() for t in ours()]
    peers = contenders.peers(case, with_all_dims(case, inputs), outputs)
    verdicts = {n: verdict(checked(p, outputs), wanted_results, TOLERANCE[case.dtype])
                for n, p in peers.items()}
    ready = {n: p for n, p in peers.items() if not (verdicts[n] or "").startswith("refuses")}
    triad, moved = contenders.ceiling(inputs, outputs)
    calls = {"vjp": ours, **ready, "ceiling": triad}
    clock = Clock(contenders.threads, calls.values())
    times = take_turns(calls, clock.seconds, clock.rounds(calls.values(), rounds))
    for used in (ours, ready.get("oneDNN")):
        if used:
            used.call.close()
    return row_of(case, bytes_of(inputs + outputs), moved, times,
                  {n: v for n, v in verdicts.items() if v})


# ---- what comes out ----------------------------------------------------------------------------

def row_of(case, nbytes, moved, times, verdicts):
    triad = times.pop("ceiling")
    shares = [nbytes / ours / (moved / top) for ours, top in zip(times["vjp"], triad)]
    return {"op": case.op, "case": case.name, "dtype": case.dtype, "shape": case.shape,
            "layout": case.layout, "bytes": nbytes, "verdicts": verdicts,
            "seconds": {name: statistics.median(t) for name, t in times.items()},
            "ceiling": moved / statistics.median(triad), "share": statistics.median(shares),
            **best_peer(times, verdicts)}


def lines_of(row, args):
    """As `vjp bench --json` writes them; its page passes over a peer that refuses."""
    for name in [*row["seconds"], *(n for n in row["verdicts"] if n not in row["seconds"])]:
        verdict_of = row["verdicts"].get(name)
        line = {"who": f"{name} (differs)" if verdict_of == "wrong" else name, "op": row["op"],
                "case": row["case"], "dtype": row["dtype"],
                "shape": "x".join(map(str, row["shape"])), "layout": row["layout"],
                "device": "cpu", "threads": args.threads, "pages": args.pages}
        if name in row["seconds"]:
            ns = row["seconds"][name] * 1e9
            line.update(median_ns=round(ns, 1), gbps=round(row["bytes"] / ns, 2),
                        ceiling_gbps=round(row["ceiling"] * 1e-9, 2))
        else:
            line["refuses"] = verdict_of.removeprefix("refuses: ")
        if name == "vjp":
            line["share"] = round(row["share"], 4)
            if "best" in row:
                line.update(best_peer=row["best"], best_peer_over_vjp=round(row["pairwise"], 4))
        yield json.dumps(line)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared_options(parser, "maps,prelu,softmax,layouts", COLUMNS[1:])
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in words(text)],
                        default=CPU_SIZES, help="elements, 4096 or more: 4096,1048576")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pages", choices=("huge", "ordinary"), default="huge")
    parser.add_argument("--json", type=pathlib.Path, help="add a line of JSON for each result")
    return parser.parse_args()


def settle(args):
    """Start again with what libraries read from the environment when they are loaded: OpenMP's
    threads, and a malloc that keeps its memory (and asks for huge pages), for PyTorch's results."""
    tunables = ("glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
                f"glibc.malloc.hugetlb={int(args.pages == 'huge')}")
    settings = {"OMP_NUM_THREADS": str(args.threads), "GLIBC_TUNABLES": tunables}
    if any(os.environ.get(name) != value for name, value in settings.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **settings})


def has_huge_pages():
    path = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return path.exists() and "[never]" not in path.read_text()


def main():
    args = parse()
    settle(args)
    if args.pages == "huge" and not has_huge_pages():
        sys.exit("this system gives no huge pages; --pages ordinary does without")
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    try:
        contenders = Contenders(args)
    except (OSError, RuntimeError) as error:
        sys.exit(str(error))
    gc.disable()  # not while somebody's time is taken
    version = contenders.onednn.version() if contenders.onednn else "not asked"
    print(f"torch {torch.__version__}, oneDNN {version}, threads {args.threads}, "
          f"{args.pages} pages")
    show_head(COLUMNS)
    rows = []
    for case in cpu_cases(args.sizes):
        if not wanted(args, case):
            continue
        rows.append(measure(case, contenders, args.rounds))
        show(rows[-1], COLUMNS)
        gc.collect()
        if args.json:
            with args.json.open("a") as lines:
                lines.writelines(line + "\n" for line in lines_of(rows[-1], args))
    if not rows:
        sys.exit("no case has that name")
    print(summary(rows))


if __name__ == "__main__":
    main()
