#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh HARNESS - analyse one of the programs in this folder with Frama-C's Eva, and fail if it
# cannot exclude a runtime error. tensors: the helpers that describe tensors, and the check of one
# descriptor; calls: the check of a whole call; loops: what follows it, a loop and the walk over it.
# run.sh --refute HARNESS FILE SED - the same with this change to FILE, core/check.c or cpu/nest.c: it must
# fail.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/proofs/eva
mkdir -p "$work"
change=
changed=
if [ "$1" = --refute ]; then
    changed=$3
    change=$4
    shift
fi
harness=$1

# text_of FILE - a file of src, with the change if it is for this one
text_of() {
    if [ "$1" != "$changed" ]; then
        cat "src/$1"
        return
    fi
    sed "$change" "src/$1" >"$work/changed.c"
    if cmp -s "src/$1" "$work/changed.c"; then
        echo "$1 has no $change" >&2
        exit 1
    fi
    cat "$work/changed.c"
}

text_of core/check.c >"$work/check.c"
for name in core/layout cpu/nest; do
    text_of $name.c >"$work/${name#*/}.c"
    proofs/wp/weave.py "$work/${name#*/}.c" "proofs/eva/${name#*/}.acsl" >"$work/woven_${name#*/}.c"
done

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
loops) precision="-eva-min-loop-unroll 22 -no-warn-signed-overflow -warn-special-float none" ;;
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
