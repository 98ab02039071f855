#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh LIBRARY [CLIENT] - the library exports what dnnl.map lists, unversioned, under the name
# of oneDNN's; that is what the headers declare; and the client, if there is one, calls all of it.
set -eu
cd "$(dirname "$0")/../../compat/dnnl_graph"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat include/oneapi/dnnl/*.h | tr '\n' ' ' | grep -o 'DNNL_API [a-z][^;()]*(' |
    grep -o 'dnnl_[a-z0-9_]*($' | tr -d '(' | sort >"$tmp/header"
sed -n 's/^ *\(dnnl_[a-z0-9_]*\);$/\1/p' dnnl.map | sort >"$tmp/map"
"${NM:-nm}" -D --defined-only "$1" | awk '{ print $3 }' | sort >"$tmp/library"

diff -u "$tmp/header" "$tmp/map"
diff -u "$tmp/map" "$tmp/library"
"${READELF:-readelf}" -d "$1" | grep -q 'SONAME.*\[libdnnl\.so\.3\]'
if [ $# -gt 1 ]; then
    "${NM:-nm}" -D --undefined-only "$2" | awk '$2 ~ /^dnnl_/ { print $2 }' | sort >"$tmp/client"
    diff -u "$tmp/map" "$tmp/client"
fi
