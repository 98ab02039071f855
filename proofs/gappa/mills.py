# SPDX-License-Identifier: Apache-2.0
"""mills.py - how far gelu's polynomials are from their functions where |src| is large.

There exp(a^2 / 2) * erfc(a / sqrt(2)) is beyond Sollya. It is sqrt(2 / pi) times Mills' continued fraction,
1 / (a + 1 / (a + 2 / (a + 3 / ...))), which lies between any two successive convergents. With a convergent for the
function, the error is a quotient of polynomials of y = (a - K) / (a + K), and is bounded with rational numbers."""

import functools
import math

from sources import Fraction, coefficients, constant, exact, first_coefficient
from tools import constant_value

DEPTH = 24  # of the continued fraction
PIECES = 128


def add(p, q):
    """Polynomials are lists of coefficients, from the lowest power up."""
    return [(p[i] if i < len(p) else 0) + (q[i] if i < len(q) else 0) for i in range(max(len(p), len(q)))]


def times(p, q):
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return product


def around(p, centre):
    """The polynomial of x - centre."""
    p = list(p)
    for i in range(len(p)):
        for j in range(len(p) - 2, i - 1, -1):
            p[j] += centre * p[j + 1]
    return p


def convergents():
    """Numerators and denominators of two successive convergents, as polynomials of a."""
    above, above_next, below, below_next = [0], [1], [1], [0, 1]
    for i in range(1, DEPTH + 1):
        above, above_next = above_next, add([0] + above_next, [i * c for c in above])
        below, below_next = below_next, add([0] + below_next, [i * c for c in below])
    return (above, below), (above_next, below_next)


def gap(least):
    """At most how far two successive convergents are apart, relatively, from a = least on: their difference is constant over
    the product of denominators, whose coefficients are positive."""
    value = lambda p: sum(c * Fraction(least) ** i for i, c in enumerate(p))
    (a, b), (a_next, b_next) = convergents()
    return abs(value(a) * value(b_next) / (value(a_next) * value(b)) - 1)


def of_place(p, degree, scale):
    """A polynomial of a = scale * (1 + y) / (1 - y), times (1 - y)^degree, as one of y."""
    total, up, down = [Fraction(0)], [Fraction(scale), Fraction(scale)], [Fraction(1), Fraction(-1)]
    for i, c in enumerate(p):
        term = [Fraction(c)]
        for factor in [up] * i + [down] * (degree - i):
            term = times(term, factor)
        total = add(total, term)
    return total


def quotient(function, dtype, root):
    """Numerator and denominator of what the polynomial of a function should be 1 times: for gelu_tail Phi(-a) exp(a^2 / 2),
    for gelu_hump that minus a / sqrt(2 pi)."""
    scale = exact(constant("GELU_K", dtype))
    _, (above, below) = convergents()
    above, below = (of_place(p, DEPTH + 1, scale) for p in (above, below))
    poly = [exact(c) for c in reversed(coefficients(function, dtype))]
    size, down, up = constant_value("sqrt(2 * pi)"), [Fraction(1), Fraction(-1)], [scale, scale]
    if function == "gelu_tail":
        return [size * c for c in times(times(poly, down), below)], above
    poly = add(poly, [exact(first_coefficient(function, dtype))])
    distance = [root - scale, -root - scale]
    return ([size * c for c in times(times(poly, distance), below)],
            add(times(above, down), [-c for c in times(up, below)]))


@functools.lru_cache(None)
def far_error(function, dtype, root, low, high):
    """The greatest relative error of gelu_tail or gelu_hump for y in this interval."""
    made, wanted = quotient(function, dtype, root)
    apart = add(made, [-c for c in wanted])
    radius, worst = (high - low) / (2 * PIECES), Fraction(0)
    for i in range(PIECES):
        centre = low + (2 * i + 1) * radius
        error, size = (around(p, centre) for p in (apart, wanted))
        most = sum(abs(c) * radius**j for j, c in enumerate(error))
        least = abs(size[0]) - sum(abs(c) * radius**j for j, c in enumerate(size) if j)
        assert least > 0
        worst = max(worst, Fraction(math.ceil(most / least * 2**120), 2**120))
    scale = exact(constant("GELU_K", dtype))
    return worst + 2 * gap(scale * (1 + low) / (1 - low)) + Fraction(1, 2**200)
