#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# elf.sh PREFIX - check that the libraries and programs installed in PREFIX are hardened, depend
# only on what the README names, and search for it only in their own tree and in the system.
set -eu

# Allowed dependencies: the system's C library, the OpenMP runtime, and each other. The code that
# nvcc generates for kernel launches needs the C++ runtime.
allowed='libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-[a-z0-9-]*\.so\.[12]'
allowed="$allowed|libgomp\.so\.1|libomp\.so\.5|libvjp\.so\.0|libinfinirt\.so"
allowed_cuda="$allowed|libstdc\+\+\.so\.6|libgcc_s\.so\.1"

bad=0
count=0
complain() {
    echo "$file: $1"
    bad=1
}

cd "$1"
files=$(find . -type f \( -path '*/bin/*' -o -name '*.so' -o -name '*.so.*' \))
for file in $files; do
    count=$((count + 1))
    header=$(readelf -hW "$file")
    segments=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    imports=$(nm -D --undefined-only "$file")

    echo "$header" | grep -q 'Type: *DYN ' || complain "cannot be loaded anywhere (not PIC, not PIE)"
    echo "$segments" | grep -q ' GNU_RELRO ' || complain "no RELRO"
    echo "$dynamic" | grep -q '(FLAGS_1).* NOW' || complain "symbols are bound late (no -z now)"
    echo "$segments" | grep -q ' GNU_STACK .* RW ' || complain "executable stack, or none declared"
    ! echo "$segments" | grep -q ' RWE ' || complain "a segment to write and execute"
    ! echo "$dynamic" | grep -q TEXTREL || complain "relocations in the code"
    echo "$imports" | grep -q ' __stack_chk_fail' || complain "no stack protector"
    case $file in
    */libvjp.so.* | */bin/vjp)
        echo "$imports" | grep -q ' __[a-z]*printf_chk' || complain "no _FORTIFY_SOURCE" ;;
    esac

    # shellcheck disable=SC2016 # the loader's $ORIGIN
    surprises=$(echo "$dynamic" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' | tr : '\n' |
        sed 's/.*/"&"/' | grep -vxE '"\$ORIGIN(/\.\.(/[a-z0-9_/-]*)?)?"' || true)
    [ -z "$surprises" ] || complain "looks for libraries in $surprises"
    case $file in
    */libvjp_cuda.so) fine=$allowed_cuda ;;
    *) fine=$allowed ;;
    esac
    surprises=$(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE "$fine" || true)
    [ -z "$surprises" ] || complain "needs $surprises"
done
echo "$count files"
[ "$count" -ge 5 ] || { echo "at least 5 were expected"; bad=1; }
exit $bad
