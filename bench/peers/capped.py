#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capped.py OUT - `vjp bench --set peers --peers` on one thread, twice: with every library held to AVX2, and with all
instructions of the machine. The lines are in OUT/avx2.json and OUT/all.json; tools/site/avx2.py makes a table of them.

The caps are environment variables that the libraries read when they are loaded; each line says what its library uses.
Cases are spread over the given cores, a process pinned to each. Those whose ratio is near 1 are measured again with
more rounds, as far as the time allows: the later line counts."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPS = {
    "avx2": {"VJP_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2",
             "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "all": {},
}
IN_MEMORY = {"1048576": "16777216", "1024x1024": "16384x1024", "1x64x112x112": "20x64x112x112",
             "32x32768": "512x32768"}  # a shape of 1 Mi elements, and the one of 16 Mi like it
SMALLER = {"1 Mi": ",".join(IN_MEMORY), "4 Ki": "4096,4x1024,1x64x8x8"}
DTYPES = "f32,bf16,f16"
LAYOUTS = ("20x64x112x112", "16777216")  # with diff_dst channels last, or one element
BEHIND = 0.97
NEAR = (0.85, 1.06)  # where a ratio is measured again


def job(title, *options, of="peers", seconds=0):
    return title, ["--set", of, "--seconds", str(seconds), *options]


def small_jobs():
    for size, shapes in SMALLER.items():
        for dtype in DTYPES.split(","):
            yield job(f"{size} {dtype}", "--dtype", dtype, "--shape", shapes)


def large_jobs(lines):
    """Each takes long: the operators one by one, in the shapes that they have at 1 Mi."""
    for op, shape in dict.fromkeys((line["op"], line["shape"]) for line in lines):
        if shape in IN_MEMORY:
            yield job(f"16 Mi {op} {IN_MEMORY[shape]}", "--dtype", DTYPES, "--op", op, "--shape", IN_MEMORY[shape])
    for op in ("relu_backward", "sigmoid_backward"):
        for shape in LAYOUTS:
            yield job(f"layouts of {op}", "--dtype", DTYPES, "--op", op, "--shape", shape, of="standard")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def best_ratios(lines):
    """By case: the least time of a peer that agrees with vjp, over vjp's."""
    ratios = {}
    for line in lines:
        if "over_vjp" in line and "note" not in line and line["layout"] == "plain":
            key = line["op"], line["dtype"], line["shape"]
            ratios[key] = min(line["over_vjp"], ratios.get(key, line["over_vjp"]))
    return ratios


def near_jobs(lines):
    """The ones nearest to the limit first."""
    near = [(abs(ratio - BEHIND), key) for key, ratio in best_ratios(lines).items() if NEAR[0] < ratio < NEAR[1]]
    for _, (op, dtype, shape) in sorted(near):
        yield job(f"again {op} {dtype} {shape}", "--dtype", dtype, "--op", op, "--shape", shape, seconds=1)


class Runner:
    def __init__(self, args, name):
        self.args, self.name = args, name
        self.cores = queue.Queue()
        for core in args.cores:
            self.cores.put(core)
        peers = {"VJP_PEERS": str(args.peers)} if args.peers else {}
        self.environment = {**os.environ, **CAPS[name], **peers, "OMP_NUM_THREADS": "1"}
        self.end = time.monotonic() + args.seconds

    def run(self, job):
        """One process on the next free core; its lines go to a file of its own."""
        title, options = job
        core = self.cores.get()
        try:
            left = self.end - time.monotonic()
            if left < 5:
                return title, False
            path = self.args.out / f"{self.name}.core{core}.part"
            command = [self.args.vjp, "bench", "--peers", *options, "--json", path]
            done = subprocess.run(["taskset", "-c", str(core), *command], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, timeout=left)
            if done.returncode:
                print(done.stderr.strip(), flush=True)
            return title, done.returncode == 0
        except subprocess.TimeoutExpired:
            return title, False
        finally:
            self.cores.put(core)

    def run_all(self, jobs):
        cut = []
        with concurrent.futures.ThreadPoolExecutor(len(self.args.cores)) as pool:
            for done in concurrent.futures.as_completed([pool.submit(self.run, job) for job in jobs]):
                title, well = done.result()
                if well:
                    print(f"{time.strftime('%H:%M:%S')} {self.name}: {title}", flush=True)
                else:
                    cut.append(title)
        if cut:
            print(f"{self.name}: {len(cut)} not finished: {', '.join(cut[:3])}...", flush=True)
        return cut

    def gather(self):
        """The lines of all cores in the order of their files' parts: what was measured again comes last."""
        path = self.args.out / f"{self.name}.json"
        with path.open("a") as whole:
            for core in self.args.cores:
                part = self.args.out / f"{self.name}.core{core}.part"
                if part.exists():
                    whole.writelines(line for line in part.open() if line.endswith("}\n"))
                    part.unlink()
        return lines_of(path)


def check_caps(name, lines):
    """A run that is held to AVX2 says so for every library."""
    used = {(line["who"], line["isa"].lower().replace("-", "")) for line in lines}
    print(f"{name}: " + ", ".join(f"{who} with {isa}" for who, isa in sorted(used)), flush=True)
    if name == "avx2" and {isa for _, isa in used} - {"avx2"}:
        sys.exit("a library did not keep to AVX2")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--vjp", type=pathlib.Path, default=ROOT / "build/release/vjp")
    parser.add_argument("--peers", type=pathlib.Path, help="the folder of peer_*.so, if not build/peers")
    parser.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")], default=[0])
    parser.add_argument("--seconds", type=float, default=7200, help="the most for each of the two runs")
    return parser.parse_args()


def main():
    args = parse()
    args.out.mkdir(parents=True, exist_ok=True)
    cut = 0
    for name in CAPS:
        (args.out / f"{name}.json").unlink(missing_ok=True)
        runner = Runner(args, name)
        cut += len(runner.run_all(small_jobs()))
        check_caps(name, runner.gather())
        cut += len(runner.run_all(large_jobs(runner.gather())))
        runner.run_all(near_jobs(runner.gather()))
        print(f"{name}: {len(best_ratios(runner.gather()))} cases", flush=True)
    sys.exit(f"{cut} not finished" if cut else 0)


if __name__ == "__main__":
    main()
