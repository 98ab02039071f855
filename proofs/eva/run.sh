#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh HARNESS - analyse one of the programs in this folder with Frama-C's Eva, and fail if it
# cannot exclude a runtime error. tensors: the helpers that describe tensors, and the check of one
# descriptor; calls: the check of a whole call.
# run.sh --refute HARNESS SED - the same with this change to core/check.c: it must fail.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/proofs/eva
mkdir -p "$work"
change=
if [ "$1" = --refute ]; then
    change=$3
    shift
fi
harness=$1
sed "$change" src/core/check.c >"$work/check.c"
if [ -n "$change" ] && cmp -s src/core/check.c "$work/check.c"; then
    echo "check.c has no $change"
    exit 1
fi

# The part of check.c that looks at one descriptor alone, and the rest. calls.c has a stand-in for
# check_shape.
sed -n '/^\/\* ---- one tensor/,/^\/\* ---- tensors together/p' "$work/check.c" | sed '$d' \
    >"$work/one_tensor.c"
grep -q '^vjp_status vjpi_check_tensor' "$work/one_tensor.c"
sed -n '/^\/\* ---- tensors together/,$p' "$work/check.c" |
    sed 's/^static vjp_status check_shape(/static vjp_status check_shape_of_one(/' \
    >"$work/tensors_together.c"
grep -q '^static vjp_status check_shape_of_one' "$work/tensors_together.c"

case $harness in
calls) precision="-eva-min-loop-unroll 14 -eva-slevel-function view_param:200" ;;
*) precision="-eva-auto-loop-unroll 200" ;;
esac

# analyse - no alarm for the harness
analyse() {
    # shellcheck disable=SC2086 # a list of options
    frama-c -no-unicode -machdep gcc_x86_64 \
        -cpp-extra-args="-I$work -I$PWD/include -I$PWD/src" \
        -eva -eva-precision 1 -eva-split-return auto $precision \
        "proofs/eva/$harness.c" >"$work/$harness.log" 2>&1 || { cat "$work/$harness.log"; exit 1; }
    # a loop that is not unrolled might not end; those of one_tensor.c do (proofs/wp/check.acsl)
    ! grep 'starting to merge loop' "$work/$harness.log" | grep -v 'one_tensor\.c' &&
        ! grep '^\[eva:alarm\]' -A 2 "$work/$harness.log" &&
        grep 'No alarms were generated\|0 alarms generated' "$work/$harness.log"
}

if [ -z "$change" ]; then
    analyse
elif analyse; then
    echo "$harness has no alarm with a fault: $change"
    exit 1
fi
