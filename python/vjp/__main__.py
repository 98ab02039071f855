# SPDX-License-Identifier: Apache-2.0
"""The program `vjp`, also as python -m vjp."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "vjp")
    os.execv(program, ["vjp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
