# SPDX-License-Identifier: Apache-2.0
"""Run by `make check-frameworks`, which installs torch; without it there is nothing to test here."""
import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
