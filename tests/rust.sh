#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rust.sh LIBDIR OUT - build the wrapper of examples/rust with RUSTC (rustc), for the libvjp.so of
# LIBDIR, then run its tests and its examples. OUT is a folder for what is built.
set -eu
libdir=$1
out=$2
source=$(cd "$(dirname "$0")/../examples/rust" && pwd)
mkdir -p "$out"
compile() {
    "${RUSTC:-rustc}" --edition 2021 -D warnings -C opt-level=1 --out-dir "$out" -L "$out" \
        -L "native=$libdir" "$@"
}
export LD_LIBRARY_PATH="$libdir"

compile --crate-type rlib --crate-name vjp "$source/src/lib.rs"
compile --test --extern "vjp=$out/libvjp.rlib" "$source/tests/wrapper.rs"
compile --extern "vjp=$out/libvjp.rlib" "$source/examples/gradient.rs"
compile --extern "vjp=$out/libvjp.rlib" "$source/examples/sigmoid.rs"
"$out/wrapper"
said=$("$out/gradient")
echo "$said"
echo "$said" | grep -qF "silu'(0) = 5e-1"
[ "$("$out/sigmoid")" = "1.96612 5 3.14981" ]
echo "$said" | grep -qF 'refused: VJP_BAD_SHAPE: diff_dst: dim 1 is 4, src has 3'
