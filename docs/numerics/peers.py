# SPDX-License-Identifier: Apache-2.0
"""peers.py VJP DIR - the error of PyTorch's and oneDNN's backward operators beside ours, on the same
inputs: a table on standard output, and DIR/sigmoid.svg, the error of the sigmoid's over x.

VJP is the program vjp. `make numerics-peers` installs what is needed into a venv and runs this.
Exact values are NumPy's long doubles, so this wants an x86 machine; errors are in ULP of the exact
value, an infinity standing where the next number would be.
"""
import pathlib, subprocess, sys, tempfile
import numpy as np
import torch

import onednn_ctypes
from onednn_ctypes import DST, HARD_SIGMOID, LOGISTIC, LOGISTIC_FROM_DST, RELU, SRC

VJP, OUT = sys.argv[1], pathlib.Path(sys.argv[2])
LONG = np.longdouble
FORMATS = {  # torch's type, significant bits, exponents of the smallest and largest normal number
    "f64": (torch.float64, 53, -1022, 1023), "f32": (torch.float32, 24, -126, 127),
    "f16": (torch.float16, 11, -14, 15), "bf16": (torch.bfloat16, 8, -126, 127)}

# ---- numbers ------------------------------------------------------------------------------------

def wide(t):
    return t.double().numpy().astype(LONG)

def unit_at(dtype, value):
    _, digits, least, most = FORMATS[dtype]
    exponent = np.clip(np.frexp(np.abs(value))[1] - 1, least, most + 1)
    return np.ldexp(LONG(1), exponent - digits + 1)

def ulps(dtype, exact, got):
    limit = np.ldexp(LONG(1), FORMATS[dtype][3] + 1)
    place = np.where(np.isinf(got), np.copysign(limit, got), got)
    error = np.abs(place - np.clip(exact, -limit, limit)) / unit_at(dtype, exact)
    return np.where(np.isnan(got), np.inf, error)

def all_inputs(dtype):
    """Every finite 16-bit number; every 512th f32; f64: random bits and the range of the function."""
    if FORMATS[dtype][0].itemsize == 2:
        bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    elif dtype == "f32":
        bits = torch.arange(0, 1 << 32, 512, dtype=torch.int64).to(torch.int32)
    else:
        random = np.random.default_rng(1)
        near = torch.from_numpy(random.uniform(-750, 750, 1 << 21)).view(torch.int64)
        bits = torch.cat([torch.from_numpy(random.integers(-2**63, 2**63, 1 << 21)), near])
    values = bits.view(FORMATS[dtype][0])
    return values[torch.isfinite(values)]

# ---- who computes -------------------------------------------------------------------------------

def ours(op, tensors, **attributes):
    """By `vjp run`, through .npy files."""
    with tempfile.TemporaryDirectory() as folder:
        command = [VJP, "run", op] + [f"--{k}={v}" for k, v in attributes.items()]
        for name, t in tensors.items():
            path = f"{folder}/{name}.npy"
            if t is not None and t.dtype == torch.bfloat16:
                np.save(path, t.view(torch.int16).numpy().view("V2"))
            elif t is not None:
                np.save(path, t.numpy())
            command += [f"--{name}", path]
        subprocess.run(command, check=True)
        like = next(iter(tensors.values()))
        result = np.load(f"{folder}/diff_src.npy")
        if like.dtype == torch.bfloat16:
            return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(result)

def by_autograd(forward, x, g):
    x = x.clone().requires_grad_()
    forward(x).backward(g)
    return x.grad

DNNL = onednn_ctypes.OneDNN()

def by_onednn(algorithm, data_argument, x, g, alpha=0.0, beta=0.0):
    """None where it refuses."""
    result = torch.zeros_like(x)
    try:
        call = DNNL.eltwise(algorithm, data_argument, x, g, result, alpha, beta)
    except RuntimeError:
        return None
    call()
    call.close()
    return result

# ---- what is computed ---------------------------------------------------------------------------

def sigmoid_exact(x, g):
    e = np.exp(-np.abs(wide(x)))
    return e / (1 + e) ** 2 * wide(g)

def pair(x, g):
    return {"src": x, "diff_dst": g, "diff_src": None}

OPERATORS = {  # name: (inputs that make sense, exact, ours, PyTorch, oneDNN)
    "relu_backward": (
        lambda x: x, lambda x, g: np.where(wide(x) > 0, wide(g), LONG(0)),
        lambda x, g: ours("relu_backward", pair(x, g), use_dst=0),
        lambda x, g: by_autograd(torch.relu, x, g),
        lambda x, g: by_onednn(RELU, SRC, x, g)),
    "sigmoid_backward, from src": (
        lambda x: x, sigmoid_exact,
        lambda x, g: ours("sigmoid_backward", pair(x, g), use_dst=0),
        lambda x, g: by_autograd(torch.sigmoid, x, g),
        lambda x, g: by_onednn(LOGISTIC, SRC, x, g)),
    "sigmoid_backward, from dst": (
        lambda y: y[(y >= 0) & (y <= 1)], lambda y, g: wide(y) * (1 - wide(y)) * wide(g),
        lambda y, g: ours("sigmoid_backward", pair(y, g), use_dst=1),
        lambda y, g: torch.ops.aten.sigmoid_backward(g, y),
        lambda y, g: by_onednn(LOGISTIC_FROM_DST, DST, y, g)),
    "hard_sigmoid_backward, 1/6, 1/2": (  # thresholds are exact here but for the last place
        lambda x: x[(x.abs() < 2.99) | (x.abs() > 3.01)],
        lambda x, g: np.where(np.abs(wide(x)) < 3, LONG(np.float32(1 / 6)) * wide(g), LONG(0)),
        lambda x, g: ours("hard_sigmoid_backward", pair(x, g), alpha=1 / 6, beta=0.5),
        lambda x, g: by_autograd(torch.nn.functional.hardsigmoid, x, g),
        lambda x, g: by_onednn(HARD_SIGMOID, SRC, x, g, 1 / 6, 0.5)),
}

def gradients(x):
    random = np.random.default_rng(2)
    mantissas = torch.from_numpy(random.uniform(1, 2, len(x)) * random.choice([-1, 1], len(x)))
    return {"1": torch.ones_like(x), "+-[1, 2)": mantissas.to(x.dtype)}

def cell(dtype, x, exact, got):
    if got is None:
        return "refused | "
    error = ulps(dtype, exact, wide(got))
    worst = int(np.argmax(error))
    return f"{float(error[worst]):.6g} | {float(x[worst]):.9g}"

def table():
    print("<!-- figures: numerics-peers errors -->\n")
    print("| operator | dtype | diff_dst | inputs | vjp | at | PyTorch | at | oneDNN | at |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (sensible, exact_of, *libraries) in OPERATORS.items():
        for dtype in FORMATS:
            x = sensible(all_inputs(dtype)).contiguous()
            for kind, g in gradients(x).items():
                exact = exact_of(x, g)
                cells = [cell(dtype, x, exact, library(x, g)) for library in libraries]
                print(f"| {name} | {dtype} | {kind} | {len(x)} | " + " | ".join(cells) + " |",
                      flush=True)

# ---- sums ---------------------------------------------------------------------------------------

def share(dtype, exact, got, terms, magnitude):
    """Of the bound (ceil(log2 n) + 8) * eps * magnitude, beyond one rounding to a 16-bit dtype."""
    eps = LONG(2.0) ** (-52 if dtype == "f64" else -23)
    error = np.abs(wide(got) - exact)
    if FORMATS[dtype][0].itemsize == 2:
        error = np.maximum(error - unit_at(dtype, exact) / 2, 0)
    return float((error / ((int(np.ceil(np.log2(terms))) + 8) * eps * magnitude)).max())

def softmax_shares(dtype, rows, n):
    random = torch.Generator().manual_seed(3)
    y = torch.softmax(torch.randn(rows, n, generator=random, dtype=torch.float64) * 3, 1)
    g = torch.randn(rows, n, generator=random, dtype=torch.float64)
    y, g = y.to(FORMATS[dtype][0]), g.to(FORMATS[dtype][0])
    product = wide(y) * wide(g)
    exact = wide(y) * (wide(g) - product.sum(1, keepdims=True))
    magnitude = np.abs(wide(y)) * (np.abs(wide(g)) + np.abs(product).sum(1, keepdims=True))
    magnitude += np.finfo(np.float64).tiny
    theirs = torch.ops.aten._softmax_backward_data(g, y, 1, y.dtype)
    return [share(dtype, exact, got, n, magnitude) for got in
            (ours("softmax_backward", {"diff_dst": g, "dst": y, "diff_src": None}, axis=1), theirs)]

def sums_table():
    print("\n<!-- end of figures -->\n\nSums, as shares of the bound (below), beyond one rounding to a 16-bit dtype:\n")
    print("<!-- figures: numerics-peers sums -->\n")
    print("| operator | dtype | rows | vjp | PyTorch |\n|---|---|---|---|---|")
    for dtype in FORMATS:
        for rows, n in ((256, 1000), (4, 1 << 18)):
            cells = " | ".join(f"{s:.3f}" for s in softmax_shares(dtype, rows, n))
            print(f"| softmax_backward | {dtype} | {rows} of {n} | {cells} |", flush=True)
    print("\n<!-- end of figures -->")

# ---- the plot -----------------------------------------------------------------------------------

def plot():
    """The worst error in each of 440 slices of -110 .. 110, f32, diff_dst = 1."""
    slices, width, height, left, top = 440, 900, 420, 70, 40
    x = torch.linspace(-110, 110, slices * 4096, dtype=torch.float64).float()
    g = torch.ones_like(x)
    exact = sigmoid_exact(x, g)
    def at(column, error):
        return (left + column * (width - left - 20) / slices,
                top + (9 - np.log10(max(float(error), 0.1))) * (height - top - 50) / 10)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="22">Sigmoid backward, f32, diff_dst = 1: worst error in ULP over '
           'src (logarithmic)</text>']
    for power in range(-1, 10):
        _, y = at(0, 10.0 ** power)
        svg.append(f'<path d="M{left} {y:.1f}H{width - 20}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">'
                   f'{10.0 ** power:g}</text>')
    for value in range(-100, 101, 20):
        place, y = at((value + 110) * 2, 0.1)
        svg.append(f'<text x="{place:.1f}" y="{y + 20:.1f}" text-anchor="middle">{value}</text>')
    colours = [("vjp", "#0a7d32", ""), ("PyTorch", "#c0392b", ""), ("oneDNN", "#1f5fbf", "5 4")]
    for i, ((name, colour, dash), library) in enumerate(
            zip(colours, OPERATORS["sigmoid_backward, from src"][2:])):
        worst = ulps("f32", exact, wide(library(x, g))).reshape(slices, -1).max(axis=1)
        path = " ".join("{:.1f},{:.1f}".format(*at(c + 0.5, e)) for c, e in enumerate(worst))
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" '
                   f'stroke-dasharray="{dash}"/>'
                   f'<text x="{left + 20 + 110 * i}" y="{top + 18}" fill="{colour}">{name}</text>')
    (OUT / "sigmoid.svg").write_text("\n".join(svg + ["</svg>"]) + "\n")

print(f"PyTorch {torch.__version__}, oneDNN {DNNL.version()}", file=sys.stderr)
plot()
table()
sums_table()
