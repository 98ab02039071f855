#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# errors.sh COMMAND... - tools/errors finds the errors of results that two libraries might have given.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# npy NAME SHAPE BYTES - a file of little-endian f32.
npy() {
    dict="{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }"
    { printf '\223NUMPY\001\000v\000%-117s\n' "$dict" && printf '%b' "$3"; } >"$dir/$1.npy"
}

# expect LINES ARGUMENT... - what the program prints.
expect() {
    lines=$1
    shift
    printf '%b' "$lines" >"$dir/expected"
    "$@" >"$dir/found"
    diff -u "$dir/expected" "$dir/found"
}

one='\0000\0000\0200\0077' two='\0000\0000\0000\0100' three='\0000\0000\0100\0100' four='\0000\0000\0200\0100'
six='\0000\0000\0300\0100' twelve='\0000\0000\0100\0101' after_twelve='\0001\0000\0100\0101'
nan='\0000\0000\0300\0177' minus_four='\0000\0000\0200\0300'

npy x 2, "$one$three"
npy g '2, 2' "$one$one$two$two"

# Exact ones; and a NaN, a wrong sign, and one beside the exact one.
npy twice '2, 2, 2' "$two$six$two$nan$four$twelve$minus_four$after_twelve"
expect '0 0 4 0 0 0\ninf 1 4 1 1 2\n' "$@" square_backward --src "$dir/x.npy" --diff_dst "$dir/g.npy" \
    --diff_src "$dir/twice.npy"

# The second output, by the second variable: diff_dst * gate.
npy up 2, "$four$six"
npy once '2, 1, 2' "$one$three$two$six"
expect '0 0 4 0 0 0\n' "$@" reglu_backward --gate "$dir/x.npy" --up "$dir/up.npy" --diff_dst "$dir/g.npy" \
    --diff_up "$dir/once.npy"

# Without a gradient; attributes count. 4 instead of 2 is off by 2^23 ULP.
npy clamped '1, 2, 2' "$one$two$one$four"
expect '0 0 2 0 0 0\n8388608 1 2 0 0 1\n' "$@" clamp --src "$dir/x.npy" --min 0 --max 2 --dst "$dir/clamped.npy"

# Rows that do not fit.
npy three 3, "$one$three$one"
if "$@" clamp --src "$dir/three.npy" --min 0 --max 2 --dst "$dir/clamped.npy" 2>"$dir/reason"; then
    echo "an input of another length was not noticed"
    exit 1
fi
grep -q "an input does not have 2 elements" "$dir/reason"
