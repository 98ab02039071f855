#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# infiniop_stubs.sh PREFIX INFINICORE DIR - make DIR an INFINI_ROOT for InfiniCore's Python tests,
# from vjp installed in PREFIX and InfiniCore's sources.
#
# On import these tests look up every function of every operator, and stop at the first one missing.
# So DIR/lib/libinfiniop.so defines those that vjp lacks as stubs that return NOT_IMPLEMENTED, and
# links with vjp's library for the others.
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

# A different name: with the same soname as the library it links with, the loader would take one for
# the other.
"${CC:-cc}" -shared -fPIC -o libinfiniop.so ../stubs.c -Wl,-soname,libinfiniop_stubs.so \
    -Wl,--no-as-needed "$compat/libinfiniop.so" -Wl,-rpath,"$compat"
ln -sf "$compat/libinfinirt.so" .
echo "$(wc -l <../stubs.c) stubs; export INFINI_ROOT=$(cd .. && pwd)"
