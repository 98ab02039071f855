#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# installed.sh PREFIX - build the example and the C++ client against an installed tree by pkg-config
# alone, and the example by CMake's find_package, and run them without any help in finding their
# libraries. PREFIX may have been moved since it was installed. CC and CXX choose the compilers.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "$1" && pwd)
pc=$(find "$prefix" -name vjp-dnnl-graph.pc)
[ -n "$pc" ] || { echo "$prefix has no vjp-dnnl-graph.pc" >&2; exit 1; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs vjp-dnnl-graph)
case $flags in
*-rpath,*/../*) echo "the run path is not plain: $flags" >&2; exit 1 ;;
esac
cd "$root"
# pkg-config quotes for the shell, which has to read it: eval.
eval "${CC:-cc} -std=c11 -Wall -Wextra -Werror -o '$tmp/example' examples/dnnl_graph_prelu.c $flags"
eval "${CXX:-c++} -std=c++11 -Wall -Wextra -Werror -o '$tmp/client' tests/dnnl_graph/client.cpp $flags"
unset LD_LIBRARY_PATH
"$tmp/client"
cat >"$tmp/wanted" <<'WANTED'
1 0.5 3
2 5 0.75
7 2 9
5 11 1.5
diff_slope: -58 -34 -90
WANTED
"$tmp/example" | diff -u "$tmp/wanted" -

cat >"$tmp/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(dnnl 3.2 CONFIG REQUIRED)
if(NOT DNNL_CPU_RUNTIME STREQUAL "OMP" OR NOT DNNL_GPU_RUNTIME STREQUAL "NONE")
  message(FATAL_ERROR "runtimes: ${DNNL_CPU_RUNTIME}, ${DNNL_GPU_RUNTIME}")
endif()
add_executable(consumer ${ROOT}/examples/dnnl_graph_prelu.c)
target_link_libraries(consumer PRIVATE DNNL::dnnl)
LISTS
package=$(dirname "$(find "$prefix" -name dnnl-config.cmake)")
cmake -S "$tmp" -B "$tmp/build" -DROOT="$root" -DCMAKE_PREFIX_PATH="$package" >/dev/null
cmake --build "$tmp/build" >/dev/null
"$tmp/build/consumer" | diff -u "$tmp/wanted" -
outside=$(find "$prefix" -name 'libdnnl*' -not -path '*/vjp-compat/*')
[ -z "$outside" ] || { echo "outside vjp-compat: $outside" >&2; exit 1; }
