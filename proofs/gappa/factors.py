# SPDX-License-Identifier: Apache-2.0
"""factors.py - a factor of a formula that is made of src alone, `@of src`: its value and its relative error.

What gelu multiplies exp(-src^2 / 2) by is a long polynomial, which changes little where the exponential passes through many
powers of two. So it is bounded once, over intervals of src (@cells), in two steps: Gappa bounds the rounded polynomial
at the number y; then the other operations, the polynomial being a number h. What the polynomial of the exact Y differs
by is the slope of its logarithm somewhere between, c, times y - Y, within a millionth. Gappa thus sees that the error
of a + K, part of y and of a divisor, moves both."""

import functools

from cells import horner
from formulas import Formula, as_rationals, number_of, pieces_of, polynomial_of, without_rounding
from mills import around
from sources import HERE, Fraction, coefficients, exact
from tools import gappa, gappa_number, interval, magnitude, rounded_out


class Interval:
    def __init__(self, low, high):
        self.low, self.high = rounded_out(Fraction(low), Fraction(high))

    def __add__(self, b):
        b = as_interval(b)
        return Interval(self.low + b.low, self.high + b.high)

    def __mul__(self, b):
        b = as_interval(b)
        ends = [x * y for x in (self.low, self.high) for y in (b.low, b.high)]
        return Interval(min(ends), max(ends))

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __sub__(self, b):
        return self + -as_interval(b)

    def __rsub__(self, b):
        return as_interval(b) - self

    def __truediv__(self, b):
        b = as_interval(b)
        assert b.low * b.high > 0
        return self * Interval(1 / b.high, 1 / b.low)

    def __rtruediv__(self, b):
        return as_interval(b) / self

    __radd__, __rmul__ = __add__, __mul__

    def pair(self):
        return self.low, self.high


def as_interval(a):
    return a if isinstance(a, Interval) else Interval(a, a)


def enclosed(p, low, high):
    """A polynomial, from the lowest power up, over an interval."""
    radius = (high - low) / 2
    centre, *rest = around(p, (low + high) / 2)
    away = sum(abs(c) * radius**i for i, c in enumerate(rest, 1))
    return Interval(centre - away, centre + away)


# ---- the polynomial at a number ------------------------------------------------------------------


POLYNOMIAL = """
@rnd = float<{gappa}, ne>;
y = rnd(y_);
{rounded}
{exact}
{{ y in {cell} -> GOALS }}
"""


def polynomial_error_at(function, f, y):
    """The greatest relative error of a polynomial at a number y in this interval."""
    coefs = coefficients(function, f.name)
    script = POLYNOMIAL.format(gappa=f.gappa, rounded=horner("p", coefs, "y", True), exact=horner("P", coefs, "y", False),
                               cell=interval(*y))
    return magnitude(gappa(script, ["(p - P) / P"], 0.0001, 120)[0])


@functools.lru_cache(None)
def exact_polynomial(function, dtype):
    """From the lowest power up."""
    return [exact(c) for c in reversed(coefficients(function, dtype))]


def slope_of_logarithm(poly, y):
    return enclosed([i * c for i, c in enumerate(poly)][1:], *y) / enclosed(poly, *y)


# ---- the factor ----------------------------------------------------------------------------------


@functools.lru_cache(None)
def formula_of(name, dtype):
    return Formula(HERE / f"{name}.formula", dtype)


@functools.lru_cache(None)
def cells_of(name, dtype):
    """Intervals of t = -|src|."""
    formula = formula_of(name, dtype)
    pieces = pieces_of(formula.filled(formula.setting(f"cells {dtype}", "")))
    return [(-number_of(high), -number_of(low)) for low, high in pieces]


def exact_values(formula, t):
    """What the lines are without rounding for t in this interval, by their names in capitals."""
    values, instead = {"T": Interval(*t)}, formula.exact_lines()
    for name, line in formula.lines:
        call = polynomial_of(line)
        if call:
            function, place = call
            value = enclosed(exact_polynomial(function, formula.dtype), *values[place.upper()].pair())
        else:
            value = eval(as_rationals(without_rounding(instead.get(name, line))), {"exact": exact}, values)
        values[name.upper()] = value
    return values


def value_at(name, dtype, t):
    formula = formula_of(name, dtype)
    return exact_values(formula, t)[formula.result.upper()].pair()


@functools.lru_cache(None)
def error_of(name, dtype, t):
    """The greatest relative error of the factor for t in one of its cells."""
    formula = formula_of(name, dtype)
    f, result = formula.format, formula.result
    (line_name, (function, place)), = ((n, polynomial_of(v)) for n, v in formula.lines if polynomial_of(v))
    start = f"{formula.script(['t'], result)}{{ t in {interval(*t)}{formula.given()}"
    end = f" -> GOALS }}\n{formula.hints(result)}"
    y, exact_y = gappa(start + end, [place, place.upper()])
    poly, error = exact_polynomial(function, dtype), polynomial_error_at(function, f, y)
    either = (min(y[0], exact_y[0]), max(y[1], exact_y[1]))
    slope = slope_of_logarithm(poly, either) * Interval(1 - Fraction(1, 10**6), 1 + Fraction(1, 10**6))
    value = enclosed(poly, *y) * Interval(1 - error, 1 + error)
    known = (f" /\\ {line_name} in {interval(*value.pair())} /\\ c in {interval(*slope.pair())}"
             f" /\\ |p| <= {gappa_number(error)}")
    error, rounding, value = gappa(start + known + end, [f"(last - {result.upper()}) / {result.upper()}", f"{result} - last", "last"], precision=120)
    rounding = min(f.unit, magnitude(rounding) / min(abs(end) for end in value))
    return (1 + magnitude(error)) * (1 + rounding) * (1 + formula.approximation(either)) - 1


def factor_at(names, dtype, t):
    """The value and the greatest relative error for t in any interval, whichever of the formulas has a cell there."""
    met = [(name, cell) for name in names for cell in cells_of(name, dtype) if cell[0] < t[1] and t[0] < cell[1]]
    values = [value_at(name, dtype, (max(cell[0], t[0]), min(cell[1], t[1]))) for name, cell in met]
    return (min(low for low, _ in values), max(high for _, high in values)), max(error_of(name, dtype, cell) for name, cell in met)
