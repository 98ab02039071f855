#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh LIBRARY - check that the library exports what src/vjp.map lists, and that vjp.h
# declares the same.
set -eu
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
tr '\n' ' ' <include/vjp/vjp.h | grep -o 'VJP_API [a-z][^;()]*(' | grep -o 'vjp_[a-z0-9_]*($' |
    tr -d '(' | sort >"$tmp/header"
sed -n 's/^ *\(vjp_[a-z0-9_]*\);$/\1/p' src/vjp.map | sort >"$tmp/map"
nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$tmp/library"

diff -u "$tmp/header" "$tmp/map"
diff -u "$tmp/map" "$tmp/library"
