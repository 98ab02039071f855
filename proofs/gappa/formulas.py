# SPDX-License-Identifier: Apache-2.0
"""formulas.py - a *.formula file as a problem for Gappa.

Each line `name = expression;` is one operation, rnd(...) rounding it. `{NAME}` is a constant of the
headers, `polynomial(function, x)` the polynomial of a function there, by fma. Each name also exists in
capitals, without rounding. The expressions between < and > of a @case are rational numbers."""

import re
import sys

from cells import greatest_exp_error, horner, ln2_rest
from sources import FORMATS, Fraction, coefficients, constant, exact, first_coefficient
from tools import constant_error, exponent_of, gappa, gappa_number, interval, magnitude, nested, polynomial_error


class Formula:
    def __init__(self, path, dtype):
        self.name, self.dtype, self.format = path.stem, dtype, FORMATS[dtype]
        self.text = path.read_text()
        self.result = self.setting("result")
        self.base = self.setting("of", "exp e").split()
        self.lines = [line for found in re.findall(r"^(\w+) = (.*);$", self.text, re.M)
                      for line in self.expanded(*found)]

    def settings(self, name):
        return [found.strip() for found in re.findall(rf"^@{name} (.*)$", self.text, re.M)]

    def setting(self, name, default=None):
        return (self.settings(name) + [default])[0]

    def constant(self, name):
        if name == "EXP_ERROR":
            return gappa_number(greatest_exp_error(self.dtype))
        if name == "UNIT":
            return f"0x1p-{self.format.precision}"
        if name == "LN2_REST":
            return gappa_number(ln2_rest(self.dtype))
        if name.startswith("root_of_"):  # all digits that there are
            parts = ["HIGH", "LOW"] + ["REST"] * (name == "root_of_silu")
            return f"({' + '.join(constant(f'{name[8:].upper()}_ROOT_{part}', 'f64') for part in parts)})"
        name, _, part = name.partition(".")
        return first_coefficient(name, self.dtype) if part else constant(name, self.dtype)

    def filled(self, text):
        return re.sub(r"\{(\w+(?:\.first)?)\}", lambda m: re.sub(r"^-.*", r"(\g<0>)", self.constant(m.group(1))), text)

    def given(self):
        """What else is known. [[...]] is the magnitude of a constant, computed by Sollya."""
        return "".join(" /\\ " + re.sub(r"\[\[(.*?)\]\]", lambda m: gappa_number(constant_error(m.group(1))), self.filled(text))
                       for text in self.settings("given"))

    def expanded(self, name, value):
        call = re.fullmatch(r"polynomial\((\w+), (\w+)\)", value)
        if not call:
            return [(name, self.filled(value))]
        text = horner(name, coefficients(call.group(1), self.dtype), call.group(2), True)
        return re.findall(r"^(\w+) = (.*);$", text, re.M)

    def script(self, inputs, result):
        """The inputs, numbers of the format; the rounded operations, `last` being the result before its rounding;
        and those without rounding, in capitals."""
        made = [f"@rnd = float<{self.format.gappa}, ne>;"]
        made += [f"{name} = rnd({name}_);\n{name.upper()} = {name};" for name in inputs]
        made += [f"{name.upper()} = {name};" for name in self.setting("reals", "").split()]
        for name, value in self.lines:
            if name == result:
                made += [f"last = {re.fullmatch(r'rnd(.*)', value).group(1)};", f"{name} = rnd(last);"]
            else:
                made.append(f"{name} = {value};")
        exact_lines = dict(self.filled(text).split(" ", 1) for text in self.settings("exact"))
        made += [f"{name.upper()} = {without_rounding(exact_lines.get(name, value))};" for name, value in self.lines]
        made += [f"{self.filled(text)};" for text in self.settings("define")]
        return "\n".join(made) + "\n"

    def nearest(self):
        """What is known of the rounding of the lines that @nearest names, and Gappa does not use: an error is at most
        a unit of the rounded number, and less than that of the exact one."""
        values, known = dict(self.lines), []
        most = interval(-self.format.unit, self.format.unit)
        less = self.format.unit / (1 + self.format.unit) + Fraction(1, 2**170)
        for name in self.setting("nearest", "").split():
            exact_value = re.fullmatch(r"rnd(.*)", values[name]).group(1)
            known += [f"{name} -/ {exact_value} in {interval(-less, less)}", f"{exact_value} -/ {name} in {most}"]
        return "".join(f" /\\ {fact}" for fact in known)

    def hints(self, result):
        """Identities that help Gappa; those of `last`, the result before its rounding, only where they are of this."""
        others = re.compile(rf"\blast - (?!{result.upper()}\b)")
        return "".join(f"{self.filled(hint)};\n" for hint in self.settings("hint") if not others.search(hint))

    def exactly(self, **values):
        """The formula without rounding, of rationals."""
        for name, value in self.lines:
            values[name.upper()] = eval(as_rationals(without_rounding(value)), {"exact": exact}, values)
        return values[self.result.upper()]

    def change(self):
        """The relative change of the exact result that d, that of the base, makes."""
        if self.setting("condition"):  # over so short a way, it is the condition times d within a millionth
            return f"({self.filled(self.setting('condition'))}) * d * 1.000001"
        return re.sub(r"^between 0 and d\b.*", "d", self.setting("sensitivity"))

    def concerns(self, cell):
        """@outside ROOT WINDOW: the formula is used only where t is not nearer to the root than that. @below MOST: only
        for lesser t."""
        if cell.t[0] >= Fraction(self.setting("below", 1)):
            return False
        for text in self.settings("outside"):
            root, window = (exact(constant(name, self.dtype)) for name in text.split())
            if root - window * 0.999 < cell.t[0] and cell.t[1] < root + window * 0.999:
                return False
        return True

    def approximation(self):
        """How far the formula without rounding is from the function that it stands for: the product of the
        polynomials' relative errors. @approximates POLYNOMIAL ~ FUNCTION on LOW .. HIGH."""
        total = Fraction(1)
        for text in self.settings("approximates"):
            polynomial, function, low, high = re.fullmatch(r"(.*) ~ (.*) on (.*) \.\. (.*)", self.filled(text)).groups()
            polynomial = re.sub(r"(\w+)\[(.*?)\]",
                                lambda m: nested(coefficients(m.group(1), self.dtype), f"({m.group(2)})"), polynomial)
            total *= 1 + polynomial_error(polynomial, function, low, high) * (1 + self.format.unit)
        return total - 1


HEX = r"0x[0-9a-f.]+p[-+]?\d+"


def without_rounding(value):
    return re.sub(rf"{HEX}|\b[a-z]\w*\b", lambda m: m.group() if m.group().startswith(("0x", "sqrt")) else m.group().upper(),
                  re.sub(r"\brnd\b", "", value))


def as_rationals(text):
    return re.sub(rf"{HEX}|(?<![\w.])\d+(\.\d+)?", lambda m: f"exact('{m.group()}')", text)


# ---- from a relative error to ULP ----------------------------------------------------------------


HALF = Fraction(1, 2)


def anywhere(error, f, last=HALF):
    """The most ULP that a result has whose relative error before its last rounding is this, wherever in its
    binade the exact value is. An exact value just below a power of two may be rounded to a number above it,
    where numbers are twice as far apart: only if the error is more than a unit. last: the most that the last
    rounding moves it, as a part of the distance between two numbers."""
    units = error / f.unit
    return units + (2 * last if units > 1 else last)


def place(value):
    """How near a positive or negative interval gets to the end of its binade: 1 if it gets there."""
    low, high = sorted((abs(value[0]), abs(value[1])))
    top = Fraction(2) ** (exponent_of(low) + 1) if low else 0
    return high / top if value[0] * value[1] > 0 and high <= top else Fraction(1)


def ulps(error, value, f, last=HALF):
    """The same for an exact value in this interval."""
    near = place(value)
    if near * (1 + error) >= 1:
        return anywhere(error, f, last)
    return near * error / f.unit + last


def ulps_rounded(error, value, f):
    """Of a relative error that includes the last rounding."""
    return place(value) * error / f.unit


def goals(result):
    """The relative errors before and after the last rounding."""
    return [f"({name} - {result.upper()}) / {result.upper()}" for name in ("last", result)]


# ---- formulas of a function that has cells -------------------------------------------------------


class Dual:
    """A rational and its derivative."""

    def __init__(self, value, slope=0):
        self.value, self.slope = Fraction(value), Fraction(slope)

    def __add__(self, b):
        b = dual(b)
        return Dual(self.value + b.value, self.slope + b.slope)

    def __mul__(self, b):
        b = dual(b)
        return Dual(self.value * b.value, self.slope * b.value + self.value * b.slope)

    def __truediv__(self, b):
        b = dual(b)
        return Dual(self.value / b.value, (self.slope * b.value - self.value * b.slope) / b.value**2)

    def __neg__(self):
        return self * -1

    def __sub__(self, b):
        return self + -dual(b)

    def __rsub__(self, b):
        return dual(b) + -self

    def __rtruediv__(self, b):
        return dual(b) / self

    __radd__, __rmul__ = __add__, __mul__


def dual(a):
    return a if isinstance(a, Dual) else Dual(a)


def check_condition(formula):
    """What the file says of the relative change of the result over that of its base, for small changes, must be an
    identity: likewise."""
    base = formula.base[1].upper()
    for i in range(1, 40):
        v, t = Fraction(i, 37), Fraction(i * i % 31 + 5, 17)
        found = formula.exactly(**{base: Dual(v, 1)}, T=t)
        if v * found.slope / found.value != eval(as_rationals(formula.filled(formula.setting("condition"))), {"exact": exact}, {base: v, "T": t}):
            sys.exit(f"prove.py: the condition of {formula.name} is wrong")


def check_sensitivity(formula):
    """What the file says of the formula's relative change, d being that of its base, must be an identity: it is
    compared with the formula itself at many more points than a quotient of its degree can agree by chance."""
    if formula.setting("condition"):
        return check_condition(formula)
    base = formula.base[1].upper()
    if formula.setting("sensitivity").startswith("between 0 and d"):
        return  # by the argument on paper that follows those words
    for i in range(1, 40):
        v, d, t = Fraction(i, 37), Fraction(i * i % 23 + 1, 1009), Fraction(i * i % 31 + 5, 17)
        change = eval(formula.setting("sensitivity"), {}, {base: v, "d": d, "T": t})
        if formula.exactly(**{base: v * (1 + d)}, T=t) / formula.exactly(**{base: v}, T=t) - 1 != change:
            sys.exit(f"prove.py: the sensitivity of {formula.name} is wrong")


def error_in_cell(formula, cell, approximation):
    """The error in ULP, and the relative error after the last rounding."""
    f, (kind, base), result = formula.format, formula.base, formula.result.upper()
    low, high = cell.value
    near = 16 * f.unit
    least, most = {"exp": (0, 1), "exp2": (0, 1), "expm1": (-1, 0)}[kind]  # monotonic rounding keeps it there
    low, high = max(low - abs(low) * near, Fraction(least)), min(high + abs(high) * near, Fraction(most))
    change = re.sub(rf"\b{base.upper()}\b", "exact", formula.change())
    script = (f"{formula.script([base, 't'], formula.result)}change = {change};\n"
              f"{{ {base} in {interval(low, high)} /\\ t in {interval(*cell.t)} /\\ exact in {interval(*cell.value)}"
              f" /\\ d in {interval(*cell.error)}{formula.given()}"
              f" -> GOALS }}\n{formula.hints(formula.result)}")
    before, after, moved, value = gappa(script, goals(formula.result) + ["change", result])
    other = (1 + magnitude(moved)) * (1 + approximation)
    before, after = (1 + magnitude(before)) * other - 1, (1 + magnitude(after)) * other - 1
    return min(ulps(before, value, f), ulps_rounded(after, value, f)), after


# ---- formulas of any numbers ---------------------------------------------------------------------


def cases(formula):
    """(what, result, hypotheses) of each @case, for each k of @each, or below what the case says."""
    each = formula.setting(f"each {formula.dtype}") or formula.setting("each", "0 0")
    first, last = (int(word) for word in each.split())
    for text in formula.settings("case"):
        what, result, end, hypotheses = re.fullmatch(r"(\w+) of (\w+)(?: below (\d+))?: (.*)", formula.filled(text)).groups()
        for k in range(first, int(end or last + 1)) if re.search(r"<[^<>=][^<>]*\bk\b", hypotheses) else [0]:
            yield what, result, re.sub(r"<([^<>=][^<>]*)>", lambda m: gappa_number(eval(
                as_rationals(m.group(1)), {"exact": exact, "k": Fraction(k)})), hypotheses)


def error_in_case(formula, result, hypotheses):
    """In ULP. The ULP of results called low... is the smallest subnormal number."""
    f, exact_result = formula.format, result.upper()
    start = f"{formula.script(formula.setting('inputs').split(), result)}{{ {hypotheses}{formula.given()}{formula.nearest()} -> GOALS }}\n"
    if result.startswith("low"):
        return magnitude(gappa(start + formula.hints(result), [f"{result} - {exact_result}"])[0]) / f.smallest
    threshold = 0 if formula.setting("nearest") else 0.01
    before, after, value = gappa(start + formula.hints(result), goals(result) + [f"|{exact_result}|"], threshold,
                                 int(formula.setting("precision", 60)))
    last = Fraction(dict(text.split() for text in formula.settings("last")).get(result, HALF))
    before, after = ((1 + magnitude(error)) * (1 + formula.approximation()) - 1 for error in (before, after))
    return min(ulps(before, value, f, last), ulps_rounded(after, value, f))
