#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - analyse the helpers that describe tensors with Frama-C's Eva (tensors.c), and fail if it
# cannot exclude a runtime error. It shows what it does on the terminal or in the log it is given.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/proofs
mkdir -p "$work"

# The part of check.c that looks at one descriptor alone.
sed -n '/^\/\* ---- one tensor/,/^\/\* ---- tensors together/p' src/core/check.c | sed '$d' \
    >"$work/one_tensor.c"
grep -q '^vjp_status vjpi_check_tensor' "$work/one_tensor.c"

frama-c -no-unicode -machdep gcc_x86_64 -cpp-extra-args="-I$work -I$PWD/include -I$PWD/src" \
    -eva -eva-precision 1 -eva-split-return auto -eva-auto-loop-unroll 200 \
    proofs/eva/tensors.c >"$work/eva.log" 2>&1 || { cat "$work/eva.log"; exit 1; }
grep '^\[eva:alarm\]' -A 2 "$work/eva.log" && exit 1
grep 'No alarms were generated\|0 alarms generated' "$work/eva.log"
