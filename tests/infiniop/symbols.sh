#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh NM LIBINFINIOP LIBINFINIRT - the two libraries export what symbols.txt lists, each its
# own part of it, and that is what the headers declare.
set -eu
nm=$1
here=$(dirname "$0")
headers=$here/../../compat/infiniop/include
LC_ALL=C
export LC_ALL

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat "$headers"/*.h "$headers"/infiniop/*.h "$headers"/infiniop/ops/*.h | tr '\n' ' ' |
    grep -o '__export infiniStatus_t *[A-Za-z0-9]*(' | sed 's/.* \(.*\)(/\1/' | sort >"$tmp/headers"
for library in "$2" "$3"; do
    prefix=$(basename "$library" .so)
    "$nm" -D --defined-only "$library" | awk -v prefix="${prefix#lib}" '
        { print $3 }
        index($3, prefix) != 1 { print $3 " in the wrong library" }'
done | sort >"$tmp/libraries"

diff -u "$here/symbols.txt" "$tmp/headers"
diff -u "$here/symbols.txt" "$tmp/libraries"
