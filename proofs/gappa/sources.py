# SPDX-License-Identifier: Apache-2.0
"""sources.py - what a proof takes from src/: constants, coefficients, and the lines that it quotes."""

import fractions
import functools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
Fraction = fractions.Fraction


class Format:
    def __init__(self, name, precision, gappa, late, smallest):
        self.name, self.gappa = name, gappa
        self.unit = Fraction(1, 2**precision)  # half the distance from 1 to the next number
        self.precision = precision
        self.smallest = smallest  # subnormal number
        self.late = late  # exp(-LATE) is 2^-late or more


FORMATS = {"f32": Format("f32", 24, "ieee_32", 95, Fraction(1, 2**149)), "f64": Format("f64", 53, "ieee_64", 866, Fraction(1, 2**1074))}


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


def search_headers(pattern, dtype, what):
    for path in sorted((SOURCE / "formulas").glob("*.h")):
        found = re.search(pattern, header(path.relative_to(SOURCE), dtype), re.M | re.S)
        if found:
            return found.group(1)
    sys.exit(f"prove.py: no header defines {what}")


@functools.lru_cache(None)
def constant(name, dtype):
    return number(search_headers(rf"^#define {name} ([^\n]*?)[ \t]*(?:/\*|\n|\Z)", dtype, name))


@functools.lru_cache(None)
def coefficients(function, dtype):
    """The array c[] of a function: from the highest power down."""
    array = search_headers(rf"^INLINE \w+ {function}\((?:(?!^INLINE).)*?static const T c\[\] = \{{(.*?)\}};",
                           dtype, function)
    return tuple(number(c) for c in array.split(","))


@functools.lru_cache(None)
def first_coefficient(function, dtype):
    """The constant `first` of a function, the head of its last coefficient."""
    return number(search_headers(rf"^INLINE \w+ {function}\((?:(?!^INLINE).)*?const T first = (.*?);",
                                 dtype, function))


def check_quotes(formula):
    """The lines that a file quotes must be in the header, however they are broken."""
    for path, quoted in re.findall(r"^# (\S+\.(?:h|def)): (.*)$", formula, re.M):
        squeeze = lambda text: re.sub(r"\s+", " ", text)
        if quoted.strip() not in squeeze((SOURCE / path).read_text()):
            sys.exit(f"prove.py: src/{path} no longer has: {quoted}")
