# SPDX-License-Identifier: Apache-2.0
"""tools.py - asking Gappa and Sollya, and the numbers they speak of."""

import functools
import math
import re
import subprocess

from sources import Fraction


def tool(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stdout + done.stderr


def gappa(text, goals, threshold=0.01, precision=60):
    """The enclosures of these expressions, GOALS of a script. threshold: how much better a second way to get one of
    them must be to be looked at; precision: the bits of its own arithmetic."""
    said = tool(["gappa", f"-Eprecision={precision}", f"-Echange-threshold={threshold}", "-Wno-null-denominator"], text.replace("GOALS", asked(goals)))
    found = [enclosure(goal, said) for goal in goals]
    if None in found or "Error" in said or "trivially equal" in said:
        raise ValueError(f"Gappa does not bound {asked(goals)}:\n{text}\n{said}")
    return found


def enclosure(goal, said):
    for name, other in re.findall(r"renaming identifier '(\w+)' as '(\w+)'", said):
        goal = re.sub(rf"\b{name}\b", other, goal)
    end = r"(-?\d+)(?:b(-?\d+))?"
    match = re.search(rf"^  {re.escape(goal)} in \[{end}(?: \{{[^}}]*\}})?, {end}", said, re.M)
    if not match:
        return None
    low, low_exp, high, high_exp = match.groups()
    return int(low) * Fraction(2) ** int(low_exp or 0), int(high) * Fraction(2) ** int(high_exp or 0)


def asked(goals):
    return " /\\ ".join(f"{goal} in ?" for goal in goals)


def gappa_number(value):
    """A rational as a dyadic number of 200 bits: near enough for the edge of a cell."""
    value = Fraction(value)
    if value.denominator & (value.denominator - 1) == 0 and value.numerator.bit_length() < 200:
        return f"{value.numerator}b{1 - value.denominator.bit_length()}"
    shift = 200 - exponent_of(value)
    return f"{round(value * Fraction(2) ** shift)}b{-shift}"


def interval(low, high):
    return f"[{gappa_number(low)}, {gappa_number(high)}]"


def exponent_of(value):
    """The greatest e with 2^e <= |value|."""
    value = abs(Fraction(value))
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= value else e - 1


def magnitude(pair):
    return max(abs(pair[0]), abs(pair[1]))


def rounded_out(low, high):
    """An interval with shorter ends around this one."""
    grain = lambda v: Fraction(2) ** (exponent_of(v) - 100) if v else Fraction(1)
    return (math.floor(low / grain(low)) * grain(low), math.ceil(high / grain(high)) * grain(high))


LN2 = sum(Fraction(2, (2 * i + 1) * 3 ** (2 * i + 1)) for i in range(90))  # within 2^-285


def exp_of_small(r):
    """exp(r) for |r| <= 1/2, within 2^-140."""
    r, term, total = Fraction(round(r * 2**160), 2**160), Fraction(1), Fraction(1)
    for i in range(1, 40):
        term = Fraction(round(term * r / i * 2**170), 2**170)
        total += term
    return total


def exp_interval(low, high):
    return exp_of_small(low) - Fraction(1, 2**135), exp_of_small(high) + Fraction(1, 2**135)


@functools.lru_cache(None)
def polynomial_error(polynomial, function, low, high):
    """A certified bound of |polynomial / function - 1| over an interval, all as Sollya reads them."""
    said = tool(["sollya", "--warnonstderr"], f"prec = 300; display = dyadic; verbosity = 0;\n"
                f"supnorm({polynomial}, {function}, [{low}; {high}], relative, 2^(-10));\n")
    match = re.search(r";\s*(\d+)b(-?\d+)\]|;\s*(\d+) \* 2\^\((-?\d+)\)\]", said)
    if not match:
        raise ValueError(f"Sollya does not bound the polynomial of {function}:\n{polynomial}\n{said}")
    digits = [group for group in match.groups() if group is not None]
    return Fraction(int(digits[0])) * Fraction(2) ** int(digits[1])


@functools.lru_cache(None)
def constant_error(expression):
    """The magnitude of a constant expression of Sollya, rounded up."""
    said = tool(["sollya", "--warnonstderr"], f"prec = 400; display = dyadic; verbosity = 0;\n"
                f"round(abs({expression}), 60, RU);\n")
    digits, power = re.search(r"^(\d+)(?:b(-?\d+))?$", said, re.M).groups()
    return int(digits) * Fraction(2) ** int(power or 0)


@functools.lru_cache(None)
def constant_value(expression):
    """A constant expression of Sollya, within 2^-240 of it."""
    said = tool(["sollya", "--warnonstderr"], f"prec = 400; display = dyadic; verbosity = 0;\n"
                f"round({expression}, 250, RN);\n")
    digits, power = re.search(r"^(-?\d+)(?:b(-?\d+))?$", said, re.M).groups()
    return int(digits) * Fraction(2) ** int(power or 0)


def nested(coefs, x="x"):
    """The polynomial as Sollya reads it."""
    text = f"({coefs[0]})"
    for c in coefs[1:]:
        text = f"({c} + {x} * {text})"
    return text
