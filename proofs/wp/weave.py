#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weave.py SOURCE ANNOTATIONS - print a C source with the ACSL annotations of another file.

Annotations stand in a file of their own: `== name` begins those of a function, with the contract
first; `-- text` puts the lines that follow it before the next line of the function that contains the
text. A function or a text that is not found is an error: the source has changed, and its proof must."""
import re
import sys


def blocks(path):
    """(function, text, annotation lines) in order; the text of a contract is None."""
    found = []
    for line in open(path, encoding="utf-8"):
        if line.startswith("== "):
            found.append((line[3:].strip(), None, []))
        elif line.startswith("-- "):
            found.append((found[-1][0], line[3:].strip(), []))
        elif found:
            found[-1][2].append(line)
    return found


def line_of(lines, start, matches, what):
    for number in range(start, len(lines)):
        if matches(lines[number]):
            return number
    sys.exit(f"weave.py: {what} is not in the source")


def weave(lines, annotations):
    before = {}
    at = 0
    for function, text, added in annotations:
        if text is None:
            begins = re.compile(rf"^\w.*\b{function}\(")
            at = line_of(lines, 0, begins.match, function)
            before.setdefault(at, []).extend(added)
        else:
            at = line_of(lines, at + 1, lambda line, text=text: text in line, f"{function}: {text}")
            before.setdefault(at, []).extend(added)
    for number, line in enumerate(lines):
        yield from before.get(number, [])
        yield line


def main():
    source, annotations = sys.argv[1:]
    lines = open(source, encoding="utf-8").readlines()
    sys.stdout.writelines(weave(lines, blocks(annotations)))


main()
