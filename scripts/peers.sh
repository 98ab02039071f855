#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh DIR - build DIR/peer_*.so, the libraries of `vjp bench --peers`, from bench/peers; DIR is
# a virtual environment with PyTorch, or any folder if PYTHON names a Python that has it.
set -eu
cd "$(dirname "$0")/.."
torch=$("${PYTHON:-$1/bin/python}" -c \
    'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("torch").origin).parent)')

# build COMPILER OPTION... - a shared library.
build() {
    compiler=$1
    shift
    "$compiler" -O2 -fopenmp -shared -fPIC -Wall -Wextra -Iinclude -isystem "$torch/include" \
        -isystem "$torch/include/torch/csrc/api/include" "$@"
}

# The names and the location of oneDNN's functions inside PyTorch.
nm "$torch/lib/libtorch_cpu.so" |
    sed -n 's/^\([0-9a-f]*\) [tT] \(dnnl_[a-z0-9_]*\)$/{ "\2", 0x\1 },/p' >"$1/onednn_offsets.h"

build cc -std=gnu11 "-I$1" "-DPYTORCH=\"$torch/lib/libtorch_cpu.so\"" -o "$1/peer_onednn.so" \
    bench/peers/onednn.c
build c++ -std=c++20 -o "$1/peer_torch.so" bench/peers/torch.cpp "-L$torch/lib" -ltorch_cpu -lc10 \
    "-Wl,-rpath,$torch/lib"
