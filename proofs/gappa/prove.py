#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prove.py [--dtype f64] [--pieces N] [FORMULA...] - prove the error bounds of formulas with Gappa.

Each *.formula here states the rounded operations of one formula of src/formulas/, one by one. This
program takes its constants from the header, checks that the lines it quotes are still there, splits
the range of inputs into cells, has Gappa bound the relative error in each of them, and Sollya that
of the polynomials. The bound in ULP that follows must not exceed the one that the file claims (@proves),
nor be smaller than the worst error that was ever measured: a smaller one would show that the proof is
not about the formula. docs/numerics.md explains the steps.

The last line is "N passed, N failed"."""

import argparse
import concurrent.futures
import fractions
import functools
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
Fraction = fractions.Fraction


class Format:
    def __init__(self, name, precision, gappa, late):
        self.name, self.gappa = name, gappa
        self.unit = Fraction(1, 2**precision)  # half the distance from 1 to the next number
        self.precision = precision
        self.late = late


FORMATS = {"f32": Format("f32", 24, "ieee_32", 95), "f64": Format("f64", 53, "ieee_64", 866)}


# ---- the sources ---------------------------------------------------------------------------------


@functools.lru_cache(None)
def header(name, dtype):
    """The text of a header as it is compiled for a dtype: #if VJPI_COMPUTE_F64 is resolved."""
    kept, stack = [], []
    for line in (SOURCE / name).read_text().splitlines():
        if line.startswith("#if"):
            stack.append(dtype == "f64" if line == "#if VJPI_COMPUTE_F64" else None)
        elif line.startswith("#else"):
            stack[-1] = None if stack[-1] is None else not stack[-1]
        elif line.startswith("#endif"):
            stack.pop()
        elif False not in stack:
            kept.append(line)
    return "\n".join(kept)


def number(text):
    """A C constant as Gappa reads it."""
    return text.strip().strip("()").rstrip("f")


def exact(text):
    text = number(text)
    if "0x" not in text:
        return Fraction(text)
    sign = -1 if text.startswith("-") else 1
    digits, exponent = text.lstrip("-")[2:].split("p")
    whole, _, rest = digits.partition(".")
    return sign * Fraction(int(whole + rest, 16), 16 ** len(rest)) * Fraction(2) ** int(exponent)


def constant(name, dtype):
    for path in sorted((SOURCE / "formulas").glob("*.h")):
        found = re.search(rf"^#define {name} (.*?)\s*(/\*|$)", header(path.relative_to(SOURCE), dtype), re.M)
        if found:
            return number(found.group(1))
    sys.exit(f"prove.py: no header defines {name}")


def coefficients(function, dtype):
    """The array c[] of a function: from the highest power down."""
    for path in sorted((SOURCE / "formulas").glob("*.h")):
        text = header(path.relative_to(SOURCE), dtype)
        found = re.search(rf"^INLINE \w+ {function}\(.*?static const T c\[\] = \{{(.*?)\}};", text, re.M | re.S)
        if found:
            return [number(c) for c in found.group(1).split(",")]
    sys.exit(f"prove.py: no header defines {function}")


def check_quotes(formula):
    """The lines that a file quotes must be in the header, however they are broken."""
    for path, quoted in re.findall(r"^# (\S+\.h): (.*)$", formula, re.M):
        squeeze = lambda text: re.sub(r"\s+", " ", text)
        if quoted.strip() not in squeeze((SOURCE / path).read_text()):
            sys.exit(f"prove.py: src/{path} no longer has: {quoted}")


# ---- Gappa and Sollya ----------------------------------------------------------------------------


def tool(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stdout + done.stderr


def gappa(text, wanted):
    """The enclosures of the expressions that are asked for, in the order of `wanted`."""
    said = tool(["gappa", "-Wno-hint-difference", "-Wno-null-denominator"], text)
    found = []
    for name in wanted:
        match = re.search(rf"^\s*{re.escape(name)} in \[(-?\d+)(?:b(-?\d+))?(?: \{{[^}}]*\}})?, (-?\d+)(?:b(-?\d+))?", said, re.M)
        if not match or "not satisfied" in said:
            raise ValueError(f"Gappa does not bound {name}:\n{text}\n{said}")
        low, low_exp, high, high_exp = match.groups()
        found.append((int(low) * Fraction(2) ** int(low_exp or 0), int(high) * Fraction(2) ** int(high_exp or 0)))
    return found


def gappa_number(value):
    """A rational as a dyadic number of 200 bits: near enough for the edge of a cell."""
    if value == 0:
        return "0"
    shift = 200 - math.frexp(value)[1]
    return f"{round(value * Fraction(2) ** shift)}b{-shift}"


def interval(low, high):
    return f"[{gappa_number(low)}, {gappa_number(high)}]"


@functools.lru_cache(None)
def polynomial_error(coefs, function, most):
    """A certified bound of |P / f - 1| on [-most, most]."""
    text = "0"
    for c in coefs:
        text = f"({c} + x * {text})" if text != "0" else f"({c})"
    said = tool(["sollya", "--warnonstderr"], f"prec = 300; display = dyadic; verbosity = 0;\n"
                f"supnorm({text}, {function}, [-{most}; {most}], relative, 2^(-10));\n")
    match = re.search(r";\s*(\d+)b(-?\d+)\]|;\s*(\d+) \* 2\^\((-?\d+)\)\]", said)
    if not match:
        sys.exit(f"prove.py: Sollya does not bound the polynomial of {function}:\n{said}")
    digits = [group for group in match.groups() if group is not None]
    return Fraction(int(digits[0])) * Fraction(2) ** int(digits[1])


# ---- the reduction of the argument, and exp ------------------------------------------------------


REDUCTION = """
@rnd = float<{gappa}, ne>;
t = rnd(t_);
HIGH = {high};
LOW = {low};
LN2 = HIGH + LOW + d;
n = int<ne>(t * {log2_e}); # {magic} is added and subtracted
r1 = rnd(t - n * HIGH);
y = r1 - n * LOW; # r is this, rounded; that of reduced_parts is x, rounded
x = r1 - rnd(n * LOW);
R = t - n * LN2;
{{ |t| in [0.25, {most}] /\\ |d| <= {d} -> r1 - (t - n * HIGH) in [0, 0] /\\ y - R in ? /\\ x - R in ? /\\ R in ? }}
R -> (t * {log2_e} - n) * LN2 + t * (1 - {log2_e} * LN2);
y - R -> (r1 - (t - n * HIGH)) + n * d;
x - R -> (y - R) - (rnd(n * LOW) - n * LOW);
"""


@functools.lru_cache(None)
def reduction(dtype):
    """The greatest |r|, and how far r before its rounding is from t - n * ln(2). Below 0.25 n is 0."""
    f = FORMATS[dtype]
    high, low = constant("LN2_HIGH", dtype), constant("LN2_LOW", dtype)
    ln2 = sum(Fraction(2, (2 * i + 1) * 3 ** (2 * i + 1)) for i in range(90))  # within 2^-285
    rest = abs(ln2 - exact(high) - exact(low)) + Fraction(1, 2**140)
    one, other, r = gappa(REDUCTION.format(gappa=f.gappa, high=high, low=low, log2_e=constant("LOG2_E", dtype),
                                      magic="MAGIC", most=constant("FURTHEST_OF_TWO", dtype),
                                      d=gappa_number(rest)), ["y - R", "x - R", "R"])
    apart = (-max(magnitude(one), magnitude(other)), max(magnitude(one), magnitude(other)))
    check_signs(f, ln2, int(constant("FURTHEST_OF_TWO", dtype)), magnitude(apart))
    return magnitude(r) + magnitude(apart), magnitude(apart)


def check_signs(f, ln2, furthest, apart):
    """No number but 0 is so near to a multiple of ln(2) that r could have the wrong sign."""
    for n in range(1, math.ceil(furthest / ln2) + 1):
        spacing = Fraction(2) ** (math.frexp(n * ln2)[1] - f.precision)
        if abs(round(n * ln2 / spacing) * spacing - n * ln2) <= 2 * apart:
            sys.exit(f"prove.py: {n} * ln(2) is too near to a number of {f.name}")


def horner(name, coefs, x, rounded):
    """name = c[0] * x^n + ... by fma, from the highest power down."""
    lines, last = [], coefs[0]
    for i, c in enumerate(coefs[1:], 1):
        this = name if i == len(coefs) - 1 else f"{name}{i}"
        step = f"{last} * {x} + {c}"
        lines.append(f"{this} = rnd({step});" if rounded else f"{this} = {step};")
        last = this
    return "\n".join(lines)


EXP = """
@rnd = float<{gappa}, ne>;
r = rnd(y);
{rounded}
{exact}
h = (w - (r - y)) * g; # exp(R - r) - 1
E = P * ((1 + a) * (1 + h)); # exp(R)
{{ y in {cell} /\\ |a| <= {a} /\\ |w| <= {w} /\\ g in [0.99999, 1.00001] -> (p - E) / E in ? /\\ E in ? }}
(p - E) / E -> ((p - P) / P - (a + h + a * h)) / (1 + (a + h + a * h)) {{ P <> 0, 1 + (a + h + a * h) <> 0 }};
"""


def edges(most, pieces):
    """Cells of [0, most] whose ends include the powers of two, where rounding errors jump."""
    ends = [most, Fraction(1, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 32), Fraction(0)]
    cells = []
    for high, low in zip(ends, ends[1:]):
        for i in range(pieces):
            cells.append((low + (high - low) * i / pieces, low + (high - low) * (i + 1) / pieces))
    return cells


def exp_cell(dtype, low, high):
    coefs = coefficients("exp_reduced", dtype)
    most, apart = reduction(dtype)
    rounded_most = Fraction(math.ceil(most * 2**20), 2**20)
    error = polynomial_error(tuple(coefs), "exp(x)", f"{rounded_most.numerator} / {rounded_most.denominator}")
    error = error / (1 - error)  # of exp relative to P
    wide, value = gappa(EXP.format(gappa=FORMATS[dtype].gappa, rounded=horner("p", coefs, "r", True),
                                   exact=horner("P", coefs, "r", False), cell=interval(low, high),
                                   a=gappa_number(error + Fraction(1, 2**190)), w=gappa_number(apart)),
                        ["(p - E) / E", "E"])
    value = (max(value[0], Fraction(1)), value[1]) if low >= 0 else (value[0], min(value[1], Fraction(1)))
    return {"error": wide, "value": value}


@functools.lru_cache(None)
def exp_cells(dtype, pieces):
    most = reduction(dtype)[0]
    cells = []
    for low, high in edges(most, pieces):
        cells += [(low, high), (-high, -low)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda cell: exp_cell(dtype, *cell), cells))


def magnitude(pair):
    return max(abs(pair[0]), abs(pair[1]))


# ---- formulas ------------------------------------------------------------------------------------


def twin(text):
    """The rounded operations, and the same without rounding, in capitals."""
    rounded, plain = [], []
    for name, value in re.findall(r"^(\w+) = (.*);$", text, re.M):
        rounded.append(f"{name} = {value};")
        plain.append(f"{name.upper()} = {without_rounding(value)};")
    return "\n".join(rounded + plain)


def without_rounding(value):
    return re.sub(r"\b[a-z]\w*\b", lambda m: m.group().upper(), re.sub(r"\brnd\b", "", value))


def exactly(text, e):
    """The formula without rounding, of a rational."""
    values = {"E": e}
    for name, value in re.findall(r"^(\w+) = (.*);$", text, re.M):
        values[name.upper()] = eval(without_rounding(value), {}, values)
    return values[setting(text, "result").upper()]


def check_sensitivity(text):
    """What the file says of the formula's relative change, d being that of E, must be an identity: it is
    compared with the formula itself at many more points than a quotient of its degree can agree by chance."""
    for i in range(1, 40):
        e, d = Fraction(i, 37), Fraction(i * i % 23 + 1, 1009)
        change = eval(setting(text, "sensitivity"), {}, {"E": e, "d": d})
        if exactly(text, e * (1 + d)) / exactly(text, e) - 1 != change:
            sys.exit(f"prove.py: the sensitivity of {setting(text, 'result')} is wrong")


def setting(text, name, default=None):
    found = re.search(rf"^@{name} (.*)$", text, re.M)
    return found.group(1).strip() if found else default


def ulps(error, value, f):
    """A relative error in ULP of an exact value in this interval."""
    low, high = value
    binade = Fraction(2) ** (math.frexp(low)[1] - 1)
    while binade > low:  # frexp rounds
        binade /= 2
    if high >= 2 * binade * (1 + f.unit / 16):
        return error / f.unit  # several binades: in the worst place of one
    return error * min(high, 2 * binade) / (binade * 2 * f.unit)


def halves(text, value):
    """A cell in which the exact result passes a power of two, cut there; else the cell itself."""
    low, high = value
    binade = Fraction(2) ** (math.frexp(max(exactly(text, low), exactly(text, high)))[1] - 1)
    below = [exactly(text, v) < binade for v in value]
    if below[0] == below[1]:
        return [value]
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if (exactly(text, middle) < binade) == below[0] else (low, middle)
    return [(value[0], high), (high, value[1])]


def cell_of(text, dtype, cell, power):
    """The error of the formula, in ULP and in units, where exp(-|t|) is in this cell times 2^power; for the
    least power, also times any lesser one: the formula is a multiple of e there, within less than a unit."""
    f = FORMATS[dtype]
    result = setting(text, "result")
    change = re.sub(r"\bE\b", "exact", setting(text, "sensitivity"))
    worst = []
    for value in halves(text, tuple(v * Fraction(2) ** power for v in cell["value"])):
        ends = sorted(exactly(text, v) for v in value)  # it is monotonic
        value = (value[0] / (2**f.late if power == least_power(f) else 1), value[1])
        wide = (value[0] * (1 - 8 * f.unit), min(value[1] * (1 + 8 * f.unit), Fraction(1)))  # of e itself
        script = (f"@rnd = float<{f.gappa}, ne>;\ne = rnd(e_);\nE = e;\n{twin(text)}\nchange = {change};\n"
                  f"{{ e in {interval(*wide)} /\\ exact in {interval(*value)} /\\ d in {interval(*cell['error'])}"
                  f" -> {result} -/ {result.upper()} in ? /\\ change in ? }}\n")
        rounding, moved = gappa(script, [f"{result} -/ {result.upper()}", "change"])
        error = (1 + magnitude(rounding)) * (1 + magnitude(moved)) - 1
        worst.append((ulps(error, ends, f), error / f.unit))
    return max(w[0] for w in worst), max(w[1] for w in worst)


def least_power(f):
    return -f.precision - 3


def prove_of_exp(text, dtype, pieces):
    """The greatest relative error of a formula of e = exp(t), t <= 0, in ULP and in units."""
    f = FORMATS[dtype]
    check_sensitivity(text)
    cells = exp_cells(dtype, pieces)
    work = []
    for power in range(0, least_power(f) - 1, -1):
        work += [(cell, power) for cell in cells if cell["value"][1] * Fraction(2) ** power <= 1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda job: cell_of(text, dtype, *job), work))
    return max(d[0] for d in done), max(d[1] for d in done)


def prove_exp(dtype, pieces):
    f = FORMATS[dtype]
    cells = exp_cells(dtype, pieces)
    worst = max(ulps(magnitude(cell["error"]), cell["value"], f) for cell in cells)
    return worst, max(magnitude(cell["error"]) for cell in cells) / f.unit


def prove(path, dtype, pieces):
    text = path.read_text()
    check_quotes(text)
    if setting(text, "of") == "exp alone":
        return text, prove_exp(dtype, pieces)
    return text, prove_of_exp(text, dtype, pieces)


def report(path, dtype, pieces):
    text, (value, slope) = prove(path, dtype, pieces)
    product = slope + 1 + slope * FORMATS[dtype].unit  # diff_dst times it, rounded once more
    failed = passed = 0
    for line in re.findall(rf"^@proves {dtype} (.*)$", text, re.M):
        what, bound, measured, operators = line.split(None, 3)
        proved = {"value": value, "product": product}[what]
        good = Fraction(measured) <= proved <= Fraction(bound)
        print(f"{path.stem:14} {dtype} {what:8} {math.ceil(proved * 1000) / 1000:.3f} ULP is proved, at most {bound} and "
              f"at least {measured} wanted: {operators}: {'ok' if good else 'FAILED'}", flush=True)
        passed, failed = passed + good, failed + (not good)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formulas", nargs="*", help="names of *.formula files; all if none is given")
    parser.add_argument("--dtype", choices=FORMATS, help="only this dtype")
    parser.add_argument("--pieces", type=int, default=3, help="cells between two powers of two of r")
    arguments = parser.parse_args()
    paths = [HERE / f"{name}.formula" for name in arguments.formulas] or sorted(HERE.glob("*.formula"))
    passed = failed = 0
    for path in paths:
        for dtype in [arguments.dtype] if arguments.dtype else FORMATS:
            try:
                more, worse = report(path, dtype, arguments.pieces)
            except ValueError as error:
                print(f"{path.stem} {dtype} FAILED: {error}")
                more, worse = 0, 1
            passed, failed = passed + more, failed + worse
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
