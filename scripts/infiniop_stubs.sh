#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# infiniop_stubs.sh PREFIX INFINICORE DIR - make DIR what InfiniCore's Python tests call INFINI_ROOT,
# from vjp installed in PREFIX and the sources of InfiniCore.
#
# These tests ask for every function of every operator when they are imported, and stop at the first
# that is missing. So DIR/lib/libinfiniop.so has those that vjp does not have, each of which answers
# NOT_IMPLEMENTED, and needs vjp's library for the others.
set -eu
compat=$(dirname "$(find "$(cd "$1" && pwd)" -name libinfiniop.so -path '*/vjp-compat/*')")
sources=$(cd "$2" && pwd)
mkdir -p "$3/lib"
cd "$3/lib"

nm -D --defined-only "$compat/libinfiniop.so" "$compat/libinfinirt.so" |
    awk '$2 == "T" { print $3 }' | sort -u >../served
find "$sources" -name '*.py' -path '*/libinfiniop/*' -exec \
    grep -oh 'lib\.infini[A-Za-z0-9_]*' {} + | sed 's/^lib\.//' | sort -u >../asked
comm -23 ../asked ../served | sed 's/.*/int &(void) { return 2; }/' >../stubs.c

# A name of its own: under that of the library it needs, it would be taken for that.
"${CC:-cc}" -shared -fPIC -o libinfiniop.so ../stubs.c -Wl,-soname,libinfiniop_stubs.so \
    -Wl,--no-as-needed "$compat/libinfiniop.so" -Wl,-rpath,"$compat"
ln -sf "$compat/libinfinirt.so" .
echo "$(wc -l <../stubs.c) stubs; export INFINI_ROOT=$(cd .. && pwd)"
