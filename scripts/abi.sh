#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# abi.sh compare|write BUILD - the ABI of the libraries in BUILD, a build with debug information
# (-g), and that of the last release in abi/.
#
# compare prints every difference; anything but an added function or enumerator is a failure. write
# stores the ABI of BUILD in abi/, for a release. The files name no folder, machine or compiler, so
# the same sources give the same files. docs/versioning.md has the rules.
set -eu
cd "$(dirname "$0")/.."

libraries="libvjp compat/infiniop/libinfiniop compat/infiniop/libinfinirt compat/dnnl_graph/libdnnl"

# dump LIBRARY FILE - the functions that the library exports, and the types that the headers show.
dump() {
    readelf -SW "$1" | grep -q ' \.debug_info ' || { echo "$1: built without -g"; return 1; }
    abidw --headers-dir include --headers-dir compat/infiniop/include \
        --headers-dir compat/dnnl_graph/include --drop-private-types --exported-interfaces-only \
        --type-id-style hash --no-architecture --no-corpus-path --no-comp-dir-path --no-show-locs \
        --no-elf-needed --no-parameter-names --no-write-default-sizes --out-file "$2" "$1"
}

case $1 in
write)
    for library in $libraries; do
        dump "$2/$library.so" "abi/${library##*/}.abi"
    done
    ;;
compare)
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    changed=0
    for library in $libraries; do
        name=${library##*/}
        dump "$2/$library.so" "$tmp/$name.abi"
        abidiff --harmless "abi/$name.abi" "$tmp/$name.abi" || true # shown; the next line decides
        abidiff --no-added-syms "abi/$name.abi" "$tmp/$name.abi" >/dev/null || changed=1
    done
    exit $changed
    ;;
esac
