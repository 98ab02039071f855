#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prove.py [--dtype f64] [--pieces N] [--jobs N] [FORMULA...] - prove the error bounds of formulas with Gappa.

Each *.formula here states the rounded operations of one formula of src/formulas/, one by one. This
program takes its constants from the header, checks that the lines it quotes are still there, splits
the range of inputs into cells, has Gappa bound the relative error in each of them, and Sollya that
of the polynomials. The bound in ULP that follows must not exceed the one that the file claims (@proves),
nor be smaller than the worst error that was ever measured: a smaller one would show that the proof is
not about the formula. docs/numerics.md explains the steps.

The last line is "N passed, N failed"."""

import argparse
import concurrent.futures
import math
import os
import re
import sys

import cells
import factors
import formulas
from formulas import Formula
from sources import FORMATS, HERE, Fraction, check_quotes
from tools import magnitude


class Pool:
    """Runs Gappa several times at once, and shows how far it is on a terminal."""

    def __init__(self, jobs):
        self.threads = concurrent.futures.ThreadPoolExecutor(jobs)

    def map(self, name, function, work):
        done = []
        for result in self.threads.map(lambda arguments: function(*arguments), work):
            done.append(result)
            if sys.stderr.isatty():
                print(f"\r{name}: {len(done)} of {len(work)} cells \r", end="", file=sys.stderr, flush=True)
        return done


def title(formula):
    return f"{formula.name} {formula.dtype}"


def products(error, f):
    """The errors of what this relative error is multiplied into."""
    return {"product": formulas.anywhere(error, f),  # a number times it
            "triple": formulas.anywhere((1 + error) * (1 + f.unit) - 1, f),  # two numbers, one after the other
            "sum": formulas.anywhere((1 + error) * (1 + f.unit) ** 2 - 1, f),  # a number and a rounded sum of two
            "itself": formulas.anywhere((1 + error) ** 2 - 1, f),
            "square": formulas.anywhere((1 + error) ** 2 * (1 + f.unit) - 1, f)}  # a number times it, times it again


def prove_alone(formula, pieces, pool):
    """exp or exp - 1, as it is."""
    f, kind = formula.format, formula.base[0]
    if kind == "exp":
        work = [(formula.dtype, low, high, 0) for low, high in cells.cells_of_r(formula.dtype, pieces)]
        found = pool.map(title(formula), cells.exp_cell, work)
        value = max(formulas.ulps_rounded(magnitude(cell.error), cell.value, f) for cell in found)
    else:
        found = expm1_cells(formula, pieces, pool)
        value = max(formulas.ulps(magnitude(cell.last), cell.value, f) for cell in found)
    # Of an argument in two parts, also the sum rounds where no multiple of ln(2) is subtracted.
    parts = max(magnitude(cell.error) + (f.unit if cell.t[0] > Fraction(-35, 100) else 0) for cell in found)
    return {"value": value, "low": value / 2 + formulas.HALF,  # a subnormal ULP is two or more of p * 2^n
            "parts": formulas.anywhere(parts, f), **products(max(magnitude(cell.error) for cell in found), f)}


def expm1_cells(formula, pieces, pool):
    work = [(formula.dtype, *job) for job in cells.expm1_jobs(formula.dtype, pieces)]
    return pool.map(f"{title(formula)}, exp - 1", cells.expm1_cell, work) + [cells.expm1_end(formula.dtype)]


def prove_of_cells(formula, pieces, pool):
    """The greatest error of a formula of exp or exp - 1, and that of a number times it."""
    f, approximation = formula.format, formula.approximation()
    formulas.check_sensitivity(formula)
    if formula.base[0] == "expm1":
        found = expm1_cells(formula, pieces, pool)
    else:
        bell = cells.fine_bell_cells if formula.factor() else cells.bell_cells
        found = {"exp": cells.exp_cells, "bell": bell, "exp2": cells.exp2_cells}[formula.base[0]](formula.dtype, pieces)
    work = [(formula, cell, approximation) for cell in found if formula.concerns(cell)]
    if formula.factor():
        work = with_factor(formula, work, pool)
    done = pool.map(title(formula), formulas.error_in_cell, work)
    return {"value": max(in_ulps for in_ulps, _ in done), **products(max(error for _, error in done), f)}


def with_factor(formula, work, pool):
    """The same cells, each with the value and the error of the factor."""
    name, *sources = formula.factor()
    for source in sources:
        factor_errors(source, formula.dtype, pool)
    return [(*job, (name, *factors.factor_at(sources, formula.dtype, job[1].t))) for job in work]


def factor_errors(name, dtype, pool):
    """The relative errors in the cells of a factor."""
    factors.formula_of(name, dtype).approximation()  # once: not by each of the threads
    return pool.map(f"{name} {dtype}", factors.error_of, [(name, dtype, cell) for cell in factors.cells_of(name, dtype)])


def prove_of_src(formula, pool):
    """The greatest relative error of a factor, in units."""
    return {"units": max(factor_errors(formula.name, formula.dtype, pool)) / formula.format.unit}


def prove_of_numbers(formula, pool):
    work = list(formulas.cases(formula))
    done = pool.map(title(formula), formulas.error_in_case, [(formula, *case[1:]) for case in work])
    return {what: max(d for case, d in zip(work, done) if case[0] == what) for what, _, _ in work}


def prove(formula, pieces, pool):
    check_quotes(formula.text)
    if formula.base[0] == "numbers":
        return prove_of_numbers(formula, pool)
    if formula.base[0] == "src":
        return prove_of_src(formula, pool)
    if formula.base[-1] == "alone":
        return prove_alone(formula, pieces, pool)
    return prove_of_cells(formula, pieces, pool)


def report(formula, pieces, pool):
    claims = formula.settings(f"proves {formula.dtype}")
    found = prove(formula, pieces, pool) if claims else {}
    failed = passed = 0
    for line in claims:
        what, bound, measured, operators = line.split(None, 3)
        good = Fraction(measured) <= found[what] <= Fraction(bound)
        print(f"{formula.name:14} {formula.dtype} {what:8} {math.ceil(found[what] * 1000) / 1000:.3f} ULP is proved, at most "
              f"{bound} and at least {measured} wanted: {operators}: {'ok' if good else 'FAILED'}", flush=True)
        passed, failed = passed + good, failed + (not good)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formulas", nargs="*", help="names of *.formula files; all if none is given")
    parser.add_argument("--dtype", choices=FORMATS, help="only this dtype")
    parser.add_argument("--pieces", type=int, default=2, help="cells between two powers of two of r")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many times Gappa runs at once")
    arguments = parser.parse_args()
    pool = Pool(arguments.jobs)
    paths = [HERE / f"{name}.formula" for name in arguments.formulas] or sorted(HERE.glob("*.formula"))
    passed = failed = 0
    for path in paths:
        for dtype in [arguments.dtype] if arguments.dtype else FORMATS:
            try:
                more, worse = report(Formula(path, dtype), arguments.pieces, pool)
            except ValueError as error:
                print(f"{path.stem} {dtype} FAILED: {error}")
                more, worse = 0, 1
            passed, failed = passed + more, failed + worse
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
