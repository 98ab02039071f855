# SPDX-License-Identifier: Apache-2.0
"""cells.py - exp, exp - 1 and 2^x: their arguments cut into cells, with the error in each.

A cell is a power of two n and an interval of r, the reduced argument. Of the function that a formula
starts from it knows the exact values, the relative error of what the library computes, and the
argument t = n * ln(2) + r."""

import dataclasses
import functools
import math
import sys

from sources import FORMATS, Fraction, coefficients, constant, exact
from tools import (LN2, constant_error, exp_interval, gappa, gappa_number, interval, magnitude, nested, polynomial_error,
                   rounded_out)


@dataclasses.dataclass(frozen=True)
class Cell:
    value: tuple  # of the exact function
    error: tuple  # relative
    t: tuple
    last: tuple = None  # the error before the last rounding, if the function is the whole formula


# ---- the reduction of the argument ---------------------------------------------------------------


REDUCTION = """
@rnd = float<{gappa}, ne>;
t = rnd(t_);
HIGH = {high};
LOW = {low};
LN2 = HIGH + LOW + d;
n = int<ne>(t * {log2_e}); # MAGIC is added and subtracted
r1 = rnd(t - n * HIGH);
y = r1 - n * LOW; # r is this, rounded; that of reduced_parts is x, rounded
x = r1 - rnd(n * LOW);
R = t - n * LN2;
v = r1 + rnd(low - n * LOW); # that of an argument in two parts, low up to a unit of t; k is the error of low itself
RL = t + low * (1 + k) - n * LN2;
{{ |t| in [0.25, {most}] /\\ |d| <= {d} /\\ |low| <= {unit_of_most} /\\ |k| <= {k} -> r1 - (t - n * HIGH) in [0, 0] /\\ GOALS }}
R -> (t * {log2_e} - n) * LN2 + t * (1 - {log2_e} * LN2);
y - R -> (r1 - (t - n * HIGH)) + n * d;
x - R -> (y - R) - (rnd(n * LOW) - n * LOW);
v - RL -> (y - R) + (rnd(low - n * LOW) - (low - n * LOW)) - low * k;
"""


def ln2_rest(dtype):
    """At most what LN2_HIGH + LN2_LOW lacks."""
    return abs(LN2 - exact(constant("LN2_HIGH", dtype)) - exact(constant("LN2_LOW", dtype))) + Fraction(1, 2**140)


@functools.lru_cache(None)
def reduction(dtype):
    """The greatest |r|, and how far r before its rounding is from t - n * ln(2), t in one or two parts. Below 0.25 n
    is 0."""
    f = FORMATS[dtype]
    high, low = constant("LN2_HIGH", dtype), constant("LN2_LOW", dtype)
    most = constant("FURTHEST_OF_TWO", dtype)
    script = REDUCTION.format(gappa=f.gappa, high=high, low=low, log2_e=constant("LOG2_E", dtype), most=most,
                              d=gappa_number(ln2_rest(dtype)), k=gappa_number(4 * f.unit),
                              unit_of_most=gappa_number(int(most) * f.unit))
    one, other, parts, r = gappa(script, ["y - R", "x - R", "v - RL", "R"])
    check_signs(f, int(most), max(magnitude(one), magnitude(other)))
    apart = max(magnitude(one), magnitude(other), magnitude(parts))
    return magnitude(r) + int(most) * f.unit + apart, apart


def check_signs(f, furthest, apart):
    """No number but 0 is so near to a multiple of ln(2) that r could have the wrong sign."""
    for n in range(1, math.ceil(furthest / LN2) + 1):
        spacing = Fraction(2) ** (math.frexp(n * LN2)[1] - f.precision)
        if abs(round(n * LN2 / spacing) * spacing - n * LN2) <= 2 * apart:
            sys.exit(f"prove.py: {n} * ln(2) is too near to a number of {f.name}")


def edges(most, pieces):
    """Cells of [0, most] whose ends include the powers of two, where rounding errors jump."""
    ends = [most, Fraction(1, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 32), Fraction(0)]
    cells = []
    for high, low in zip(ends, ends[1:]):
        for i in range(pieces):
            cells.append((low + (high - low) * i / pieces, low + (high - low) * (i + 1) / pieces))
    return cells


def cells_of_r(dtype, pieces):
    return both_signs(edges(reduction(dtype)[0], pieces))


def both_signs(cells):
    return [cell for low, high in cells for cell in ((low, high), (-high, -low))]


def horner(name, coefs, x, rounded):
    """name = c[0] * x^n + ... by fma, from the highest power down."""
    lines, last = [], coefs[0]
    for i, c in enumerate(coefs[1:], 1):
        this = name if i == len(coefs) - 1 else f"{name}{i}"
        step = f"{last} * {x} + {c}"
        lines.append(f"{this} = rnd({step});" if rounded else f"{this} = {step};")
        last = this
    return "\n".join(lines)


def error_near_0(polynomial, function, dtype):
    """The error of a polynomial over the range of r, relative to itself."""
    most = math.ceil(reduction(dtype)[0] * 2**20)
    error = polynomial_error(polynomial, function, f"-{most} / {2**20}", f"{most} / {2**20}")
    return gappa_number(error / (1 - error) + Fraction(1, 2**190))


# ---- exp -----------------------------------------------------------------------------------------


EXP = """
@rnd = float<{gappa}, ne>;
r = rnd(y);
{rounded}
{exact}
h = (w - (r - y)) * g; # exp(R - r) - 1
E = P * ((1 + a) * (1 + h)); # exp(R)
{{ y in {cell} /\\ |a| <= {a} /\\ |w| <= {w} /\\ g in [0.99999, 1.00001] -> GOALS }}
(p - E) / E -> ((p - P) / P - (a + h + a * h)) / (1 + (a + h + a * h)) {{ P <> 0, 1 + (a + h + a * h) <> 0 }};
"""


@functools.lru_cache(None)
def exp_error(dtype, low, high):
    """The relative error of exp_reduced for r in this interval."""
    coefs = coefficients("exp_reduced", dtype)
    return gappa(EXP.format(gappa=FORMATS[dtype].gappa, rounded=horner("p", coefs, "r", True),
                            exact=horner("P", coefs, "r", False), cell=interval(low, high),
                            a=error_near_0(nested(coefs), "exp(x)", dtype),
                            w=gappa_number(reduction(dtype)[1])), ["(p - E) / E"])[0]


def greatest_exp_error(dtype):
    return max(magnitude(exp_error(dtype, *cell)) for cell in cells_of_r(dtype, 3))


def exp_cell(dtype, low, high, n):
    apart = reduction(dtype)[1]
    value = exp_interval(low - apart, high + apart)
    value = (max(value[0], Fraction(1)), value[1]) if low >= 0 else (value[0], min(value[1], Fraction(1)))
    return Cell(value=rounded_out(*(v * Fraction(2) ** n for v in value)), error=exp_error(dtype, low, high),
                t=(n * LN2 + low - apart, n * LN2 + high + apart))


def least_power(f):
    return -f.precision - 3


def exp_cells(dtype, pieces):
    """Those of exp(t) for t <= 0, down to where 1 + exp(t) is 1, far from 0 in larger ones; from there to LATE
    in cells of many powers: beside 1, nothing but the magnitude of the function changes there."""
    f, found, step = FORMATS[dtype], [], 16
    for n in range(0, least_power(f) - 1, -1):
        found += [exp_cell(dtype, *cell, n) for cell in cells_of_r(dtype, pieces if n > -7 else 1)
                  if n < 0 or cell[1] <= 0]
    error = greatest_exp_error(dtype)
    for n in range(least_power(f), -f.late - 1, -step):
        t = (max((n - step) * LN2, -Fraction(constant("LATE", dtype))), n * LN2)
        found.append(Cell(value=(Fraction(2) ** (n - step), Fraction(2) ** n), error=(-error, error), t=t))
    return found


def bell_cells(dtype, pieces):
    """Those of exp(-src^2 / 2) up to GELU_FURTHEST; t is -|src|. Far from 0, where the power of two is applied last and
    only the error counts, in cells of many powers."""
    found = [dataclasses.replace(cell, t=minus_root(cell.t)) for n in range(0, -8, -1)
             for cell in (exp_cell(dtype, *r, n) for r in cells_of_r(dtype, pieces) if n < 0 or r[1] <= 0)]
    n, error, furthest = -7, greatest_exp_error(dtype), exact(constant("GELU_FURTHEST", dtype))
    while n * LN2 > -furthest * furthest / 2:
        step, power = max(2, -n // 12), max(n, -64)
        found.append(Cell(value=(Fraction(2) ** (power - step), Fraction(2) ** power), error=(-error, error),
                          t=minus_root(((n - step) * LN2, n * LN2))))
        n -= step
    return found


def fine_bell_cells(dtype, pieces):
    """The same for formulas that are proved quickly in a cell, the rest being a factor: also far from 0 by the place between
    two powers of two, several of them at a time, over which src changes by three hundredths."""
    found, n, furthest = [], 0, exact(constant("GELU_FURTHEST", dtype))
    while n * LN2 > -furthest * furthest / 2:
        step, power = max(1, -n // 16), Fraction(2) ** (max(n, -64) - n)
        for cell in (exp_cell(dtype, *r, n) for r in cells_of_r(dtype, pieces if n > -8 else 1) if n < 0 or r[1] <= 0):
            least, most = cell.t
            found.append(dataclasses.replace(cell, t=minus_root((least - (step - 1) * LN2, most)),
                                             value=tuple(v * power for v in cell.value)))
        n -= step
    return split_at(found, -Fraction(1, 2**50))  # beyond, not even a rounded factor is what it is at 0


def split_at(cells, end):
    """The same cells, with an end of t there."""
    return [dataclasses.replace(cell, t=t) for cell in cells for t in
            ([(cell.t[0], end), (end, cell.t[1])] if cell.t[0] < end < cell.t[1] else [cell.t])]


def minus_root(argument):
    """-|src| where -src^2 / 2 is in this interval, a little more."""
    grain = 2**40
    root = lambda t: Fraction(math.isqrt(math.floor(-2 * t * grain * grain)), grain)
    low, high = argument
    return -root(low) - Fraction(2, grain), -max(root(min(high, Fraction(0))) - Fraction(1, grain), Fraction(0))


# ---- exp - 1 -------------------------------------------------------------------------------------


EXPM1 = """
@rnd = float<{gappa}, ne>;
r = {r};
{rounded}
{exact}
s1 = rnd(r * q);
last = {last};
m = rnd(last);
h = {h}; # exp(R - r) - 1
X = r * (1 + r * Q) * (1 + a); # exp(r) - 1
M = {exact_m};
{{ {y} in {cell} /\\ |a| <= {a} /\\ |w| <= {w} /\\ g in [0.99999, 1.00001] -> GOALS }}
{hints}
"""

# Where n is 0, r is t, and the result is r * (1 + r * Q).
FROM_0 = dict(r="rnd(y)", y="r", last="r * (s1 + 1)", h="0 * w * g", exact_m="X",
              hints="(last - M) / M -> (((s1 + 1) - (1 + r * Q)) / (1 + r * Q) - a) / (1 + a) { 1 + a <> 0, M <> 0 };\n"
                    "((s1 + 1) - (1 + r * Q)) / (1 + r * Q) -> (s1 - r * Q) / (1 + r * Q) { 1 + r * Q <> 0 };")
FROM_1 = dict(r="rnd(y)", y="y", h="(w - (r - y)) * g",
              last="{power} * rnd(s1 * r + r) + {less}", exact_m="{power} * (X + h + X * h) + {exact_less}",
              hints="(last - M) / M -> ({power} * (rnd(s1 * r + r) - (X + h + X * h)) + ({less} - {exact_less})) / M "
                    "{{ M <> 0 }};\n"
                    "rnd(s1 * r + r) - (X + h + X * h) -> (rnd(s1 * r + r) - (s1 * r + r)) + r * (s1 - r * Q)"
                    " - r * (1 + r * Q) * a - h - X * h;")


def expm1_cell(dtype, low, high, n):
    f, apart = FORMATS[dtype], reduction(dtype)[1]
    power = Fraction(2) ** n
    less = power - 1 if -n <= f.precision else Fraction(-1)  # rounded
    text = FROM_0 if n == 0 else {name: part.format(power=gappa_number(power), less=gappa_number(less),
                                                    exact_less=gappa_number(power - 1))
                                  for name, part in FROM_1.items()}
    coefs = coefficients("expm1_reduced", dtype)
    certified = error_near_0(f"x * (1 + x * {nested(coefs)})", "expm1(x)", dtype)
    last, whole = gappa(EXPM1.format(gappa=f.gappa, rounded=horner("q", coefs, "r", True),
                                     exact=horner("Q", coefs, "r", False), cell=interval(low, high),
                                     a=certified, w=gappa_number(apart), **text), ["(last - M) / M", "(m - M) / M"])
    value = [power * e - 1 for e in exp_interval(low - apart, high + apart)]
    if n == 0:
        value = [low, high + high * high / 2]  # exp(r) - 1 is between r and r + r^2 / 2
    return Cell(value=rounded_out(*value), error=whole, last=last, t=(n * LN2 + low - apart, n * LN2 + high + apart))


def expm1_jobs(dtype, pieces):
    """Where exp(t) - 1 is computed for t <= 0: (low, high, n). From 2^-60 on: what is nearer to 0 is t itself. Far from
    0, where 1 is most of the result, the place of r hardly matters."""
    near = [(*cell, n) for cell in cells_of_r(dtype, pieces) for n in range(-3, 0)]
    far = [(*cell, n) for cell in cells_of_r(dtype, 1) for n in range(-FORMATS[dtype].precision - 3, -3)]
    at_0 = [(low, min(high, -Fraction(1, 2**60)), 0) for low, high in cells_of_r(dtype, pieces) if high <= 0]
    return at_0 + near + far


def expm1_end(dtype):
    """For all t below those: the result is -1, being less than a quarter of the distance to the next number away."""
    f = FORMATS[dtype]
    error = (-f.unit / 4, f.unit / 4)
    return Cell(value=(Fraction(-1), -1 + f.unit / 4), error=error, last=error,
                t=(-Fraction(constant("TANH_FULL", dtype)), -f.precision * LN2))


# ---- 2^x, for gelu_tanh ----------------------------------------------------------------------------


POWER = """
@rnd = float<{gappa}, ne>;
a = rnd(a_);
q = rnd(a * a);
q_low = a * a - q; # exact by fma
p = rnd({k2_high} * q);
p_rest = {k2_high} * q - p; # exact by fma
p_low = rnd({k2_low} * q + rnd({k2_high} * q_low + p_rest));
b = rnd(p + {k1_high});
b_rest = p + {k1_high} - b; # exact, the error of a sum
b_low = rnd(b_rest + rnd(p_low + {k1_low}));
first = rnd(-a * b - n);
f = rnd(-a * b_low + first);
K1 = {k1_high} + {k1_low} + d1;
K2 = {k2_high} + {k2_low} + d2;
G = -a * (K1 + K2 * (a * a)) - n;
lost = (b_low - (b_rest + rnd(p_low + {k1_low}))) + (rnd(p_low + {k1_low}) - (p_low + {k1_low}))
     + (p_low - ({k2_low} * q + rnd({k2_high} * q_low + p_rest)))
     + (rnd({k2_high} * q_low + p_rest) - ({k2_high} * q_low + p_rest)) - {k2_low} * q_low - d1 - d2 * (a * a);
{{ a in [1b-100, {most}] /\\ |d1| <= {d1} /\\ |d2| <= {d2} /\\ |-a * b - n| <= 0.5 -> GOALS }}
q_low -> -(q - a * a);
p_rest -> -(p - {k2_high} * q);
b_rest -> -(b - (p + {k1_high}));
f - G -> (f - (-a * b_low + first)) + (first - (-a * b - n)) - a * lost;
"""


@functools.lru_cache(None)
def gelu_tanh_argument(dtype):
    """How far gelu_tanh_power's argument of 2^x is from the exact one."""
    parts = {name.lower(): constant(f"GELU_{name}", dtype) for name in ("K1_HIGH", "K1_LOW", "K2_HIGH", "K2_LOW")}
    k1 = "2 / log(2) * sqrt(2 / pi)"
    lacks = [constant_error(f"{k} - ({parts[high]}) - ({parts[low]})") for k, high, low in
             ((k1, "k1_high", "k1_low"), (f"0.044715 * {k1}", "k2_high", "k2_low"))]
    bracketed = {name: f"({value})" for name, value in parts.items()}
    return magnitude(gappa(POWER.format(gappa=FORMATS[dtype].gappa, most=constant("GELU_TANH_FURTHEST", dtype),
                                        d1=gappa_number(lacks[0]), d2=gappa_number(lacks[1]), **bracketed),
                           ["f - G"])[0])


EXP2 = """
@rnd = float<{gappa}, ne>;
f = rnd(f_);
{rounded}
{exact}
h = w * g; # 2^(G - f) - 1
E = P * ((1 + a) * (1 + h)); # 2^G
{{ f in {cell} /\\ |a| <= {a} /\\ |w| <= {w} /\\ g in [0.69314, 0.69316] -> GOALS }}
(p - E) / E -> ((p - P) / P - (a + h + a * h)) / (1 + (a + h + a * h)) {{ P <> 0, 1 + (a + h + a * h) <> 0 }};
"""


@functools.lru_cache(None)
def exp2_error(dtype, low, high):
    coefs = coefficients("exp2_reduced", dtype)
    certified = polynomial_error(nested(coefs), "2^x", "-0.5001", "0.5001")
    return gappa(EXP2.format(gappa=FORMATS[dtype].gappa, rounded=horner("p", coefs, "f", True),
                             exact=horner("P", coefs, "f", False), cell=interval(low, high),
                             a=gappa_number(certified / (1 - certified) + Fraction(1, 2**190)),
                             w=gappa_number(gelu_tanh_argument(dtype))), ["(p - E) / E"])[0]


def gelu_tanh_src(low, high):
    """Where the argument of 2^x is in this interval: t = -|src| for which t * (K1 + K2 t^2) is."""
    k1, k2 = (exact(constant(f"GELU_{k}_HIGH", "f64")) for k in ("K1", "K2"))

    def below(y):
        near, far = Fraction(0), Fraction(64)
        for _ in range(50):
            middle = (near + far) / 2
            near, far = (middle, far) if middle * (k1 + k2 * middle * middle) < -y else (near, middle)
        return near

    return -below(low) - Fraction(1, 2**30), -max(below(high) - Fraction(1, 2**30), Fraction(1, 2**40))


def exp2_cells(dtype, pieces):
    """Those of 2^x for x <= 0, as exp_cells; t is -|src|."""
    f, found, step = FORMATS[dtype], [], 16
    most, apart = Fraction(5001, 10000), gelu_tanh_argument(dtype)
    both, far = both_signs(edges(most, pieces)), both_signs(edges(most, 1))
    for n in range(0, least_power(f) - 1, -1):
        for low, high in both if n > -7 else far:
            if n < 0 or high <= 0:
                value = exp_interval(low * LN2 - apart, high * LN2 + apart)
                found.append(Cell(value=rounded_out(*(v * Fraction(2) ** n for v in value)),
                                  error=exp2_error(dtype, low, high), t=gelu_tanh_src(n + low, n + high)))
    error = max(magnitude(exp2_error(dtype, *cell)) for cell in both)
    for n in range(least_power(f), -f.late - 1, -step):
        found.append(Cell(value=(Fraction(2) ** (n - step), Fraction(2) ** n), error=(-error, error),
                          t=gelu_tanh_src(n - step, n)))
    return found
