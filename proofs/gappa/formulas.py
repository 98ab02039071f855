# SPDX-License-Identifier: Apache-2.0
"""formulas.py - a *.formula file as a problem for Gappa.

Each line `name = expression;` is one operation, rnd(...) rounding it. `{NAME}` is a constant of the
headers, `polynomial(function, x)` the polynomial of a function there, by fma. Each name also exists in
capitals, without rounding. The expressions between < and > of a @case are rational numbers."""

import re
import sys

from cells import greatest_exp_error, horner, ln2_rest
from mills import far_error
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
        if name == "root_of_gelu":  # relative to a function with another root, the polynomial's error would be large
            return "0.75179152469356445745790494677952403966447115342345384838653956562084626579734695"
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
        call = polynomial_of(value)
        if not call or self.base == ["src"]:
            return [(name, self.filled(value))]
        text = horner(name, coefficients(call[0], self.dtype), call[1], True)
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
                made.append(f"{name} = rnd({name}_);" if polynomial_of(value) else f"{name} = {value};")
        instead = self.exact_lines()
        made += [f"{name.upper()} = {without_rounding(instead.get(name, value))};" if not polynomial_of(value) else
                 f"{name.upper()} = {name} / ((1 + p) * (1 + c * (y - Y)));" for name, value in self.lines]
        made += [f"{self.filled(text)};" for text in self.settings("define")]
        return "\n".join(made) + "\n"

    def exact_lines(self):
        return dict(self.filled(text).split(" ", 1) for text in self.settings("exact"))

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

    def any_reals(self):
        """Some value of each of @reals and of the factor, for a check of identities."""
        return {name.upper(): Fraction(2, 7) for name in self.setting("reals", "").split() + self.factor()[:1]}

    def factor(self):
        """@factor NAME FORMULA...: NAME is the result of these formulas of src, factors.py."""
        return self.setting("factor", "").split()

    def exactly(self, **values):
        """The formula without rounding, of rationals."""
        values.update(self.any_reals())
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
        for lesser t. @above LEAST: only for greater t."""
        if cell.t[0] >= Fraction(self.setting("below", 1)) or cell.t[1] <= Fraction(self.setting("above", "-1e9")):
            return False
        for text in self.settings("outside"):
            root, window = (exact(constant(name, self.dtype)) for name in text.split())
            if root - window * 0.999 < cell.t[0] and cell.t[1] < root + window * 0.999:
                return False
        return True

    def approximation(self, at=None):
        """How far the formula without rounding is from the function that it stands for: the product of the
        polynomials' relative errors; only in the pieces that meet the interval `at`.
        @approximates POLYNOMIAL ~ FUNCTION on LOW .. HIGH in PIECES, LOW .. HIGH in PIECES.
        @far NAME LOW: for the rest of the range by mills.py."""
        total = Fraction(1)
        for text in self.settings("approximates"):
            polynomial, function, ranges = re.fullmatch(r"(.*) ~ (.*) on (.*)", self.filled(text)).groups()
            polynomial = re.sub(r"(\w+)\[(.*?)\]",
                                lambda m: nested(coefficients(m.group(1), self.dtype), f"({m.group(2)})"), polynomial)
            errors = [polynomial_error(polynomial, function, *piece) for piece in pieces_of(ranges) if meet(piece, at)]
            for name, low in (far.split() for far in self.settings("far")):
                root, scale = Fraction(self.constant("root_of_gelu")), exact(constant("GELU_K", self.dtype))
                furthest = exact(constant("GELU_FURTHEST", self.dtype))
                high = (furthest - scale) / (furthest + scale)
                if meet((low, str(high)), at):
                    errors.append(far_error(name, self.dtype, root, Fraction(low), high))
            error = max(errors)
            total *= 1 + error * (1 + self.format.unit)
        return total - 1


def pieces_of(ranges):
    """The ends of each piece, as Sollya reads them. `around ROOT within 2^-M beyond 2^-N` is both sides of the root, in halves
    towards it."""
    for root, first, last in re.findall(r"around ([^,]+?) within 2\^-(\d+) beyond 2\^-(\d+)", ranges):
        for k in range(int(first), int(last)):
            yield f"{root} - 2^(-{k})", f"{root} - 2^(-{k + 1})"
            yield f"{root} + 2^(-{k + 1})", f"{root} + 2^(-{k})"
    for low, high, pieces in re.findall(r"([^,]+?) \.\. ([^,]+?)(?: in (\d+))?(?:, |$)", ranges):
        n = int(pieces or 1)
        at = lambda i: f"(({low}) * {n - i} + ({high}) * {i}) / {n}" if 0 < i < n else (high if i else low)
        yield from ((at(i), at(i + 1)) for i in range(n))


def meet(piece, at):
    return not at or number_of(piece[0]) <= at[1] and at[0] <= number_of(piece[1])


def number_of(text):
    return eval(as_rationals(text.replace("^", "**")), {"exact": exact})


def polynomial_of(value):
    """(function, argument) of polynomial(function, argument)."""
    call = re.fullmatch(r"polynomial\((\w+), (\w+)\)", value)
    return call and call.groups()


HEX = r"0x[0-9a-f.]+p[-+]?\d+"


def without_rounding(value):
    return re.sub(rf"{HEX}|\b[a-z]\w*\b", lambda m: m.group() if m.group().startswith(("0x", "sqrt")) else m.group().upper(),
                  re.sub(r"\brnd\b", "", value))


def as_rationals(text):
    return re.sub(rf"{HEX}|(?<![\w.])\d+(\.\d+)?", lambda m: f"exact('{m.group()}')", text)


# ---- from a relative error to ULP ----------------------------------------------------------------


HALF = Fraction(1, 2)


def anywhere(error, f, last=HALF, across=None):
    """The most ULP that a result has whose relative error before its last rounding is this, wherever in its
    binade the exact value is. An exact value just below a power of two may be rounded to a number above it,
    where numbers are twice as far apart: only if the error is more than a unit. last: the most that the last
    rounding moves it, as a part of the distance between two numbers. across: the most that it adds across a power of
    two to errors of less than 3 units."""
    units = error / f.unit
    if units <= 1:
        return units + last
    return units + (max(last, across) if across is not None and units < 3 else 2 * last)


def across_by(divisor):
    """The most ULP that the rounding of a quotient of numbers adds if it takes the result across a power of two from
    an exact value below it. With A and B the digits of dividend and divisor, A > B, so that the quotient is at
    least 1 + 1 / B, not far below the next number, 1 + 2 units, or above it."""
    return 2 * (1 - 1 / (2 * place(divisor))) if place(divisor) < 1 else Fraction(1)


def place(value):
    """How near a positive or negative interval gets to the end of its binade: 1 if it gets there."""
    low, high = sorted((abs(value[0]), abs(value[1])))
    top = Fraction(2) ** (exponent_of(low) + 1) if low else 0
    return high / top if value[0] * value[1] > 0 and high <= top else Fraction(1)


def ulps(error, value, f, last=HALF, across=None):
    """The same for an exact value in this interval."""
    near = place(value)
    if near * (1 + error) >= 1:
        return anywhere(error, f, last, across)
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
        condition = as_rationals(formula.filled(formula.setting("condition")))
        if v * found.slope / found.value != eval(condition, {"exact": exact}, {base: v, "T": t, **formula.any_reals()}):
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
        change = eval(formula.setting("sensitivity"), {}, {base: v, "d": d, "T": t, **formula.any_reals()})
        if formula.exactly(**{base: v * (1 + d)}, T=t) / formula.exactly(**{base: v}, T=t) - 1 != change:
            sys.exit(f"prove.py: the sensitivity of {formula.name} is wrong")


def error_in_cell(formula, cell, approximation, factor=None):
    """The error in ULP, and the relative error after the last rounding."""
    f, (kind, base), result = formula.format, formula.base, formula.result.upper()
    low, high = cell.value
    near = 16 * f.unit
    least, most = (-1, 0) if kind == "expm1" else (0, 1)  # monotonic rounding keeps it there
    low, high = max(low - abs(low) * near, Fraction(least)), min(high + abs(high) * near, Fraction(most))
    change = re.sub(rf"\b{base.upper()}\b", "exact", formula.change())
    error, known, inputs = cell.error, "", [base, "t"]
    if factor:
        name, (bottom, top), by = factor
        error = ((1 + error[0]) * (1 - by) - 1, (1 + error[1]) * (1 + by) - 1)
        around = (bottom - abs(bottom) * by, top + abs(top) * by)
        known, inputs = f" /\\ {name} in {interval(*around)}", inputs + [name]
    script = (f"{formula.script(inputs, formula.result)}change = {change};\n"
              f"{{ {base} in {interval(low, high)} /\\ t in {interval(*cell.t)} /\\ exact in {interval(*cell.value)}"
              f" /\\ d in {interval(*error)}{known}{formula.given()}"
              f" -> GOALS }}\n{formula.hints(formula.result)}")
    divisor = re.fullmatch(r"rnd\(\w+ / (\w+)\)", dict(formula.lines)[formula.result])
    before, after, moved, value, *over = gappa(script, goals(formula.result) + ["change", result]
                                               + ([divisor.group(1)] if divisor else []))
    other = (1 + magnitude(moved)) * (1 + approximation)
    before, after = (1 + magnitude(before)) * other - 1, (1 + magnitude(after)) * other - 1
    across = across_by(over[0]) if over else None
    return min(ulps(before, value, f, across=across), ulps_rounded(after, value, f)), after


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
