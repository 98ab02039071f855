# SPDX-License-Identifier: Apache-2.0
"""kit.py - run kernels over the conformance vectors and count the elements that are wrong.

docs/conformance-kit.md is a walk through it, runner.py an example. Needs NumPy and ml_dtypes.
"""
import collections
import json
import pathlib

import ml_dtypes
import numpy as np

VECTORS = pathlib.Path(__file__).parents[1] / "vectors"
DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
          "I32": np.int32, "I64": np.int64, "U8": np.uint8}

Case = collections.namedtuple("Case", "name attributes strides inputs outputs")
Output = collections.namedtuple("Output", "exact low high")


def read(path):
    """The cases of a file. inputs: arrays by name; outputs: by name, exact and the ends of what is
    allowed."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    listed = json.loads(header.pop("__metadata__")["cases"])
    tensors = collections.defaultdict(dict)
    for key, info in header.items():
        case, name = key.split("/")
        first, end = (start + offset for offset in info["data_offsets"])
        array = np.frombuffer(content[first:end], DTYPES[info["dtype"]]).reshape(info["shape"])
        tensors[case][name] = array
    return [to_case(entry, tensors[entry["name"]]) for entry in listed]


def to_case(entry, tensors):
    outputs = {name[:-4]: Output(tensors[name[:-4]], tensors[name], tensors[name[:-4] + ".high"])
               for name in tensors if name.endswith(".low")}
    inputs = {name: array for name, array in tensors.items() if name.split(".")[0] not in outputs}
    return Case(entry["name"], entry.get("attributes", {}), entry.get("strides", {}), inputs,
                outputs)


def ulp(exact):
    """The distance between neighbours at each number; that of the subnormals at 0."""
    info = ml_dtypes.finfo(exact.dtype)
    exponent = np.frexp(np.where(np.isfinite(exact), exact, 1).astype(np.float64))[1] - 1
    return np.ldexp(np.longdouble(1), np.maximum(exponent, int(info.minexp)) - int(info.nmant))


def is_correct(result, output, ulps=0):
    """By element: within the ends or, if ulps is given, that near the exact value; NaN for NaN; a
    zero with the right sign."""
    got, exact, low, high = (a.astype(np.float64) for a in (result, *output))
    sign = np.signbit(low)
    right = (low <= got) & (got <= high)
    right &= (got != 0) | (sign != np.signbit(high)) | (np.signbit(got) == sign)
    if ulps:
        with np.errstate(invalid="ignore"):
            distance = np.abs(got.astype(np.longdouble) - exact.astype(np.longdouble))
        right |= distance <= ulps * ulp(output.exact)
    return np.where(np.isnan(exact), np.isnan(got), right)


def faults(result, exact):
    """By element, what a wrong result is. The first that applies."""
    got, exact = result.astype(np.float64), exact.astype(np.float64)
    return np.select(
        [~np.isfinite(got) & np.isfinite(exact), (got == 0) & (exact != 0),
         (got == 0) & (exact == 0), np.signbit(got) != np.signbit(exact)],
        ["not finite", "lost", "zero of the wrong sign", "wrong sign"], "imprecise")


def is_finite(case, output):
    """By element: the exact result and the inputs it is made of, where these have its shape."""
    arrays = [a for a in case.inputs.values() if a.shape == output.exact.shape]
    finite = [np.isfinite(a.astype(np.float64)) for a in [output.exact, *arrays]]
    return np.logical_and.reduce(finite)


def compare(case, results, ulps=0, finite=False):
    """Yields, for each output that results have, its name, the elements that count, and what is
    wrong with each of them ("" if nothing is)."""
    for name, result in results.items():
        output = case.outputs[name]
        if result.shape != output.exact.shape:
            raise ValueError(f"{case.name}/{name}: {result.shape}, not {output.exact.shape}")
        counts = is_finite(case, output) if finite else np.ones(result.shape, bool)
        fault = np.where(is_correct(result, output, ulps), "", faults(result, output.exact))
        yield name, counts, np.where(counts, fault, "")


def check(kernels, folder=VECTORS, ulps=0, finite=False, only="", show=print):
    """Run kernels, {operator: function(attributes, **inputs)}, over the vectors; returns how many
    elements are wrong. A function returns {output: array}, or None for a case that it does not
    serve; nor does it serve a case whose outputs have another dtype than its results. ulps:
    allow that distance from the exact value too, and any sign of a zero. finite: ignore elements
    whose inputs or exact results are NaN or infinite, where conventions differ. only: cases with
    this in their names."""
    tally, first, unserved = collections.defaultdict(collections.Counter), {}, 0
    for operator, kernel in kernels.items():
        for case in read(pathlib.Path(folder) / f"{operator}.safetensors"):
            if only not in case.name:
                continue
            results = kernel(case.attributes, **case.inputs)
            if results is None or any(case.outputs[name].exact.dtype != result.dtype
                                      for name, result in results.items()):
                unserved += 1
                continue
            for name, counts, fault in compare(case, results, ulps, finite):
                words = [f"{word}={value}" for word, value in case.attributes.items()
                         if isinstance(value, (bool, str))]
                key = " ".join([operator, *words, case.name.split("-")[1], name])
                tally[key] += collections.Counter(fault[counts].tolist())
                for i in np.argwhere(fault != "")[:1]:
                    first.setdefault(key, (case, name, tuple(i), results[name]))
    for key, count in tally.items():
        total, right = sum(count.values()), count.pop("", 0)
        kinds = ", ".join(f"{n} {kind}" for kind, n in count.most_common())
        show(f"{total - right:6} of {total:6} wrong: {key}" + (f" ({kinds})" if kinds else ""))
        if key in first:
            show(" " * 8 + describe(*first[key]))
    if unserved:
        show(f"{unserved} cases are not served")
    return sum(sum(count.values()) for count in tally.values())


def describe(case, name, i, result):
    """One wrong element in words."""
    exact = case.outputs[name].exact
    inputs = [f"{n} = {a[i]}" for n, a in case.inputs.items() if a.shape == exact.shape]
    return f"{case.name} {list(map(int, i))}: {', '.join(inputs)}: {result[i]}, not {exact[i]}"
