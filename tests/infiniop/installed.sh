#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# installed.sh PREFIX - the installed infiniop interface as its users meet it: each header alone, as
# C and as C++; a client and the example, built with what pkg-config says and run with nothing set.
# CC and CXX may name other compilers.
set -eu
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
unset LD_LIBRARY_PATH

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name vjp-infiniop.pc | head -n 1)")
export PKG_CONFIG_PATH
cflags=$(pkg-config --cflags vjp-infiniop)
libs=$(pkg-config --libs vjp-infiniop)
strict='-Wall -Wextra -Wpedantic -Werror'
# What pkg-config says is quoted for the shell, which has to read it: eval.

# build COMPILER STANDARD SOURCE... - and run.
build() {
    compiler=$1
    std=$2
    shift 2
    eval "$compiler -x ${std%%[0-9]*} -std=$std $strict $cflags -o '$tmp/program' $* -x none $libs"
    "$tmp/program"
}

include=$(pkg-config --variable=includedir vjp-infiniop)
for header in $(cd "$include" && find infini* -name '*.h'); do
    echo "#include <$header>" >"$tmp/one.h"
    echo "#include \"one.h\"" >"$tmp/one.c"
    eval "${CC:-cc} -std=c11 $strict $cflags -fsyntax-only '$tmp/one.c'"
    eval "${CXX:-c++} -x c++ -std=c++11 $strict $cflags -fsyntax-only '$tmp/one.c'"
done

build "${CC:-cc}" c11 tests/infiniop/client.c
build "${CXX:-c++}" c++11 tests/infiniop/client.c
build "${CC:-cc}" c11 examples/infiniop_sigmoid.c

# The run path names one folder, and so does not depend on its parent folders.
case $libs in
*/../*) echo "the run path is not plain: $libs" && exit 1 ;;
esac

# scripts/infiniop_stubs.sh: one library in which both a function of ours and any other is found.
mkdir -p "$tmp/sources/test/libinfiniop"
cat >"$tmp/sources/test/libinfiniop/op_register.py" <<'PYTHON'
lib.infiniopCreateSigmoidBackwardDescriptor.restype = c_int32
lib.infiniopGetGemmWorkspaceSize.restype = c_int32
PYTHON
CC=${CC:-cc} scripts/infiniop_stubs.sh "$prefix" "$tmp/sources" "$tmp/root"
cat >"$tmp/open.c" <<'SOURCE'
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv)
{
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *stub, *ours;
    if (!lib || !(stub = dlsym(lib, "infiniopGetGemmWorkspaceSize")) ||
        !(ours = dlsym(lib, "infiniopCreateHandle")))
        return 1;
    return (*(int (**)(void))&stub)() != 2 || (*(int (**)(void *))&ours)(NULL) != 4;
}
SOURCE
"${CC:-cc}" -o "$tmp/open" "$tmp/open.c" -ldl
"$tmp/open" "$tmp/root/lib/libinfiniop.so"

# Nobody gets the libraries without asking for them.
for name in libinfiniop.so libinfinirt.so; do
    found=$(find "$prefix" -name "$name*")
    case $found in
    "$prefix"/*/vjp-compat/$name) ;;
    *) echo "$name is not alone in vjp-compat: $found" && exit 1 ;;
    esac
done
