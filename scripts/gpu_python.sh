#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_python.sh WHEEL - run the GPU tests of the Python package in WHEEL, with the PyTorch, JAX and CuPy
# that PYTHON has. Nothing is installed. A failure is one line; what was skipped is listed with its reason.
set -eu
wheel=$1
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m zipfile -e "$wheel" "$folder"
chmod +x "$folder/vjp/bin/vjp" # zipfile drops it
cd "$(dirname "$0")/.."

# JAX would take most of the GPU's memory at once.
export PYTHONPATH="$folder" XLA_PYTHON_CLIENT_PREALLOCATE=false
failed=0
for tests in python/tests/with_cuda python/tests/with_torch/test_cuda.py; do
    echo "== $tests"
    "$python" -m pytest -q --tb=line -rs --no-header -p no:cacheprovider -p no:warnings "$tests" ||
        failed=1
done
exit $failed
