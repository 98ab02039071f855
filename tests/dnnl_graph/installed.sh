#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# installed.sh PREFIX - build the example and the C++ client against an installed tree by pkg-config
# alone, and run them without any help in finding their libraries. PREFIX may have been moved since
# it was installed. CC and CXX choose the compilers.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "$1" && pwd)
pc=$(find "$prefix" -name vjp-dnnl-graph.pc)
[ -n "$pc" ] || { echo "$prefix has no vjp-dnnl-graph.pc" >&2; exit 1; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs vjp-dnnl-graph)
cd "$root"
# pkg-config quotes for the shell, which has to read it: eval.
eval "${CC:-cc} -std=c11 -Wall -Wextra -Werror -o '$tmp/example' examples/dnnl_graph_prelu.c $flags"
eval "${CXX:-c++} -std=c++11 -Wall -Wextra -Werror -o '$tmp/client' tests/dnnl_graph/client.cpp $flags"
unset LD_LIBRARY_PATH
"$tmp/client"
"$tmp/example" >"$tmp/output"
cat >"$tmp/wanted" <<'WANTED'
1 0.5 3
2 5 0.75
7 2 9
5 11 1.5
diff_slope: -58 -34 -90
WANTED
diff -u "$tmp/wanted" "$tmp/output"
outside=$(find "$prefix" -name 'libdnnl*' -not -path '*/vjp-compat/*')
[ -z "$outside" ] || { echo "outside vjp-compat: $outside" >&2; exit 1; }
