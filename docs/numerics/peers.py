# SPDX-License-Identifier: Apache-2.0
"""peers.py VJP ERRORS DIR - the errors of PyTorch's and oneDNN's operators beside ours, on the same inputs:
tables on standard output, and plots in DIR.

VJP and ERRORS are the programs vjp and tools/errors.c. `make numerics-peers` installs what is needed into a
virtual environment and runs this. Errors are in ULP of the exact value, an infinity standing where the next
number would be.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # for each of the threads below

import numpy as np  # noqa: E402
import torch  # noqa: E402

import onednn_ctypes  # noqa: E402
import plots  # noqa: E402
from operators import FROM_DST, OPERATORS, POINTS  # noqa: E402

VJP, ERRORS, OUT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # of that many bytes
DNNL = onednn_ctypes.OneDNN()
FILES = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

# ---- tensors -------------------------------------------------------------------------------------


def path_of(name):
    return f"{FILES.name}/{name}.npy"


def save(name, tensor):
    if tensor.dtype == torch.bfloat16:
        np.save(path_of(name), tensor.view(torch.int16).numpy().view("V2"))
    else:
        np.save(path_of(name), tensor.numpy())
    return path_of(name)


def load(name, dtype):
    array = np.load(path_of(name))
    return torch.from_numpy(array.view(np.int16) if dtype == torch.bfloat16 else array).view(dtype)


def neighbours(dtype):
    """The 64 numbers on either side of the points, and of the same below 0."""
    integers = INTEGERS[dtype.itemsize]
    centres = torch.tensor(POINTS + [-p for p in POINTS], dtype=torch.float64).to(dtype).view(integers)
    return (centres[:, None] + torch.arange(-64, 65, dtype=integers)).reshape(-1).view(dtype)


def every_input(dtype):
    """Every finite 16-bit number; every 512th f32; f64: random bits and the range of the functions."""
    integers = INTEGERS[dtype.itemsize]
    if dtype.itemsize == 2:
        values = torch.arange(1 << 16, dtype=torch.int32).to(integers).view(dtype)
    elif dtype.itemsize == 4:
        values = torch.arange(0, 1 << 32, 512, dtype=torch.int64).to(integers).view(dtype)
    else:
        random = np.random.default_rng(1)
        bits = torch.from_numpy(random.integers(-2**63, 2**63, 1 << 21)).view(dtype)
        values = torch.cat([bits, torch.from_numpy(random.uniform(-750, 750, 1 << 21))])
    if dtype.itemsize > 2:
        values = torch.cat([values, neighbours(dtype)])
    return values[torch.isfinite(values)]


def drawn(seed, like):
    """From [1, 2) and (-2, -1]."""
    random = np.random.default_rng(seed)
    values = random.uniform(1, 2, len(like)) * random.choice([-1, 1], len(like))
    return torch.from_numpy(values).to(like.dtype)


@dataclass
class Inputs:
    """What every operator gets in a dtype, and the names of its files."""
    tensors: dict
    gradients: list
    files: dict


def make_inputs(name, x):
    tensors = {"src": x, "gate": x, "up": drawn(2, x), "slope": torch.full((1,), 0.3).to(x.dtype)}
    gradients = [torch.ones_like(x), drawn(3, x)]
    files = {"src": save(name + "-src", x), "slope": save(name + "-slope", tensors["slope"]),
             "up": save(name + "-up", tensors["up"]), "diff_dst": save(name + "-all", torch.stack(gradients)),
             "each": [save(f"{name}-{i}", g) for i, g in enumerate(gradients)]}
    return Inputs(tensors, gradients, files | {"gate": files["src"]})


# ---- who computes --------------------------------------------------------------------------------


@dataclass
class Case:
    """One output of an operator. torch and onednn take the inputs and the gradient, if there is one."""
    name: str
    output: str
    inputs: tuple
    attributes: dict
    torch: Callable
    onednn: Callable
    label: str = None
    at: Callable = None  # which of the inputs are compared; None: all

    def title(self):
        label = f" ({self.label})" if self.label else ""
        output = f" {self.output}" if self.name.endswith("glu_backward") else ""
        return self.name + label + output


def by_autograd(forward, place):
    """The gradient of the input at that place."""
    def gradient(*arguments):
        inputs = [t.clone().requires_grad_() for t in arguments[:-1]]
        forward(*inputs).backward(arguments[-1])
        return inputs[place].grad
    return gradient


def cases_of(operator):
    primitive = operator.onednn
    if primitive and primitive[0] == onednn_ctypes.PRELU:
        forward, backward = DNNL.prelu_forward, DNNL.prelu_backward
    elif primitive:
        forward, backward = partial(DNNL.eltwise_forward, *primitive), partial(DNNL.eltwise_backward, *primitive)
    else:
        forward = backward = None
    yield Case(operator.name, "dst", operator.inputs, operator.attributes, operator.forward, forward,
               operator.label, operator.forward_at)
    for place, name in enumerate(operator.inputs if operator.has_backward else ()):
        if name != "slope":
            yield Case(operator.name + "_backward", "diff_" + name, operator.inputs, operator.attributes,
                       operator.forward and by_autograd(operator.forward, place), backward,
                       operator.label, operator.backward_at)


def case_from_dst(operator):
    return Case(operator.name, "diff_src", ("src",), {"use_dst": 1}, operator.backward,
                partial(DNNL.eltwise_backward, *operator.onednn), "from dst", operator.backward_at)


def all_cases():
    """A backward pass from dst follows the one from src."""
    from_dst = {operator.name: operator for operator in FROM_DST}
    for operator in OPERATORS:
        for case in cases_of(operator):
            yield case
            if case.title() in from_dst:
                yield case_from_dst(from_dst[case.title()])


def options(values):
    return [f"--{name}={value}" for name, value in values.items()]


def ours(case, inputs, gradient, name):
    """By `vjp run`; gradient: the number of its file."""
    files = {t: inputs.files[t] for t in case.inputs} | {case.output: path_of(name)}
    if gradient is not None:
        files["diff_dst"] = inputs.files["each"][gradient]
    subprocess.run([VJP, "run", case.name] + options(files | case.attributes), check=True)
    return load(name, inputs.tensors["src"].dtype)


def theirs(function, tensors):
    """None where it is refused."""
    try:
        return function(*tensors) if function else None
    except (RuntimeError, NotImplementedError):
        return None


# ---- errors --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What the program errors says of a library."""
    worst: float
    at: float
    compared: int
    nan: int
    wrong_sign: int
    lost: int


def results_of(case, inputs, name):
    """{library: results for each gradient}, of those that have the operator."""
    tensors = [inputs.tensors[t] for t in case.inputs]
    numbers = range(len(inputs.gradients)) if case.output != "dst" else [None]
    found = {"vjp": [ours(case, inputs, i, name) for i in numbers]}
    for library, function in (("PyTorch", case.torch), ("oneDNN", case.onednn)):
        found[library] = [theirs(function, tensors + ([inputs.gradients[i]] if i is not None else []))
                          for i in numbers]
    return {library: results for library, results in found.items() if results[0] is not None}


def measure(case, inputs, name):
    """{library: Tally}."""
    if case.at:
        x = inputs.tensors["src"]
        inputs = make_inputs(name, x[case.at(x)])
    found = results_of(case, inputs, name)
    stacked = torch.stack([torch.stack(results) for results in zip(*found.values())])
    files = {t: inputs.files[t] for t in case.inputs} | {case.output: save(name, stacked)}
    if case.output != "dst":
        files["diff_dst"] = inputs.files["diff_dst"]
    command = [ERRORS, case.name] + options(files | case.attributes)
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    os.remove(path_of(name))
    tallies = {}
    for library, line in zip(found, lines):
        worst, at, *counts = line.split()
        tallies[library] = Tally(float(worst), inputs.tensors["src"][int(at)].item(), *map(int, counts))
    return tallies


def measure_all(cases):
    """{dtype: [(case, {library: Tally})]}."""
    found = {}
    for dtype, kind in DTYPES.items():
        inputs = make_inputs(dtype, every_input(kind))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tallies = list(pool.map(lambda i: measure(cases[i], inputs, f"{dtype}-case{i}"), range(len(cases))))
        found[dtype] = list(zip(cases, tallies))
    return found


# ---- tables --------------------------------------------------------------------------------------

LIBRARIES = ("vjp", "PyTorch", "oneDNN")


def number(value):
    """Four digits, and large ones as 1.7e7."""
    return f"{value:.4g}" if value < 1000 else f"{value:.1e}".replace("e+0", "e").replace("e+", "e")


def place(dtype, value):
    """In the fewest digits that give it back."""
    if dtype == "f64":
        return repr(value)
    digits = next(n for n in range(1, 10) if torch.tensor(float(f"{value:.{n}g}")).to(DTYPES[dtype]).item() == value)
    return f"{value:.{digits}g}"


def cells(case, dtype, library, tallies):
    """The worst error and its place."""
    if library not in tallies:
        function = {"PyTorch": case.torch, "oneDNN": case.onednn}[library]
        return ["refused" if function else "-", ""]
    tally = tallies[library]
    if tally.nan:
        return ["NaN", place(dtype, tally.at)]
    return [number(tally.worst), place(dtype, tally.at) if tally.worst else ""]


def print_table(name, head, rows):
    print(f"<!-- figures: numerics-peers {name} -->\n")
    for row in [head, ["---"] * len(head)] + rows:
        print("| " + " | ".join(row) + " |")
    print("\n<!-- end of figures -->\n")


def print_errors(name, found, dtypes, backward):
    head = ["operator", "dtype"] + [word for library in LIBRARIES for word in (library, "at")]
    rows = [[case.title(), dtype] + [cell for library in LIBRARIES for cell in cells(case, dtype, library, tallies)]
            for pairs in zip(*(found[dtype] for dtype in dtypes))
            for dtype, (case, tallies) in zip(dtypes, pairs) if (case.output != "dst") == backward]
    print_table(name, head, rows)


def share(part, whole):
    """In percent, two digits, none for nothing."""
    return f"{100 * part / whole:.2g} %" if part else ""


LOST = """### Lost digits

Results in f32 that are off by more than half of their digits, 2^12 ULP, and results that are NaN, in percent
of the inputs; and how many have the wrong sign. An operator has a line for each library that loses any.
"""


def print_lost(found, dtype):
    """The operators whose results are not right to half of the digits."""
    head = ["operator", "library", "lost", "NaN", "wrong sign"]
    rows = [[case.title(), library, share(t.lost, t.compared), share(t.nan, t.compared), str(t.wrong_sign or "")]
            for case, tallies in found[dtype] for library, t in tallies.items() if t.lost]
    print_table("lost", head, rows)


# ---- sums ----------------------------------------------------------------------------------------


def unit_at(dtype, value):
    """Of the last place."""
    info = torch.finfo(DTYPES[dtype])
    exponent = np.frexp(np.maximum(np.abs(value), info.tiny))[1] - 1
    return np.ldexp(np.longdouble(info.eps), exponent)


def share_of_bound(dtype, exact, got, terms, magnitude):
    """Of the bound (ceil(log2 n) + 8) * eps * magnitude, beyond one rounding to a 16-bit dtype."""
    eps = torch.finfo(torch.float64 if dtype == "f64" else torch.float32).eps
    error = np.abs(got.double().numpy() - exact)
    if DTYPES[dtype].itemsize == 2:
        error = np.maximum(error - unit_at(dtype, exact) / 2, 0)
    return float((error / ((int(np.ceil(np.log2(terms))) + 8) * eps * magnitude)).max())


def softmax_shares(dtype, rows, n):
    random = torch.Generator().manual_seed(3)
    y = torch.softmax(torch.randn(rows, n, generator=random, dtype=torch.float64) * 3, 1).to(DTYPES[dtype])
    g = torch.randn(rows, n, generator=random, dtype=torch.float64).to(DTYPES[dtype])
    wide_y, wide_g = (t.double().numpy().astype(np.longdouble) for t in (y, g))
    product = wide_y * wide_g
    exact = wide_y * (wide_g - product.sum(1, keepdims=True))
    magnitude = np.abs(wide_y) * (np.abs(wide_g) + np.abs(product).sum(1, keepdims=True))
    magnitude += np.finfo(np.float64).tiny
    files = {"diff_dst": save("sums-g", g), "dst": save("sums-y", y), "diff_src": path_of("sums-x")}
    subprocess.run([VJP, "run", "softmax_backward"] + options(files | {"axis": 1}), check=True)
    theirs = torch.ops.aten._softmax_backward_data(g, y, 1, y.dtype)
    return [share_of_bound(dtype, exact, got, n, magnitude) for got in (load("sums-x", y.dtype), theirs)]


def print_sums():
    rows = [["softmax_backward", dtype, f"{rows} of {n}"] + [f"{s:.3f}" for s in softmax_shares(dtype, rows, n)]
            for dtype in DTYPES for rows, n in ((256, 1000), (4, 1 << 18))]
    print_table("sums", ["operator", "dtype", "rows", "vjp", "PyTorch"], rows)


# ---- all of it -----------------------------------------------------------------------------------


def worst_in_slices(case, low, high, slices):
    """{library: the worst error in each slice of low .. high}, f32."""
    edges = np.linspace(low, high, slices + 1)
    def worst(i):
        x = torch.linspace(edges[i], edges[i + 1], 4096, dtype=torch.float64).float()
        return {library: t.worst for library, t in measure(case, make_inputs(f"s{i}", x), f"slice{i}").items()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(worst, range(slices)))
    return {library: [one[library] for one in found] for library in LIBRARIES}


def draw(cases):
    for title, low, high in (("sigmoid_backward", -110, 110), ("gelu_backward", -14, 6)):
        case = next(case for case in cases if case.title() == title)
        lines = worst_in_slices(case, low, high, plots.SLICES)
        (OUT / f"{title.removesuffix('_backward')}.svg").write_text(plots.errors(title, low, high, lines))


def main():
    print(f"PyTorch {torch.__version__}, oneDNN {DNNL.version()}", file=sys.stderr)
    cases = list(all_cases())
    draw(cases)
    found = measure_all(cases)
    print(LOST)
    print_lost(found, "f32")
    print("### Backward\n")
    print_errors("backward", found, ("f32", "bf16"), True)
    print("### Forward\n")
    print_errors("forward", found, ("f32", "bf16"), False)
    print('<details markdown="1">\n<summary>The same in f64 and f16</summary>\n')
    print_errors("backward-more", found, ("f64", "f16"), True)
    print_errors("forward-more", found, ("f64", "f16"), False)
    print("</details>\n\n### Sums beside PyTorch\n\nShares of the [bound](#sums), beyond one rounding to a 16-bit "
          "dtype:\n")
    print_sums()


if __name__ == "__main__":
    main()
