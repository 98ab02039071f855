#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check_deb.sh DIR - check the packages that deb.sh has built in DIR: with lintian, and in a chroot with
# nothing but Debian in it, where they are installed, tested by debian/tests (autopkgtest) and removed
# again, which must leave no file behind. Needs root and Debian's mirror, once, to make DIR.chroot.
set -eu
cd "$(dirname "$0")/.."
dir=$1
root=$dir.chroot
packages=$(basename -a "$dir"/*.deb | grep -v dbgsym)

say() {
    printf '%-60s %s\n' "$1" "$2"
}

# The packages, and what they and their tests depend on, so that the rest needs no network.
make_chroot() {
    rm -rf "$root" "$root.partial"
    mmdebstrap --variant=minbase --include="gcc,g++,libc6-dev,pkg-config,cmake,make,libgomp1,\
python3,python3-numpy" "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$root.partial"
    mv "$root.partial" "$root"
}

# files - all files but those that apt and dpkg themselves write.
files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp \
        -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \
        -o -name __pycache__ \) -prune -o -print | sort)
}

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
        DEBIAN_FRONTEND=noninteractive "$@"
}

[ -d "$root" ] || { echo "making $root: minutes"; make_chroot >"$root.log" 2>&1; } ||
    { cat "$root.log"; exit 1; }

lintian --fail-on error,warning --allow-root "$dir"/*.changes
say lintian ok

files >"$root.before"
rm -rf "$root/tmp/debs"
mkdir -p "$root/tmp/debs"
for package in $packages; do
    cp "$dir/$package" "$root/tmp/debs"
done
# shellcheck disable=SC2046 # a list of names
inside dpkg -i $(for package in $packages; do echo "/tmp/debs/$package"; done) >"$root.log" ||
    { cat "$root.log"; exit 1; }
say install ok

# As autopkgtest runs them: in the source's folder, with a scratch folder of their own.
source=$(basename "$dir"/vjp-*/)
cp -R "$dir/$source" "$root/tmp/debs/source"
failed=0
tests=$(sed -n 's/^Tests: //p' debian/tests/control)
for test in $tests; do
    if inside sh -c "cd /tmp/debs/source && mkdir -p /tmp/debs/$test &&
            AUTOPKGTEST_TMP=/tmp/debs/$test debian/tests/$test" >"$root.log" 2>&1; then
        say "debian/tests/$test" ok
    else
        say "debian/tests/$test" FAILED
        cat "$root.log"
        failed=1
    fi
done

# shellcheck disable=SC2046
inside dpkg -P $(echo "$packages" | sed 's/_.*//') >"$root.log" || { cat "$root.log"; exit 1; }
rm -rf "$root/tmp/debs"
files | diff "$root.before" -
say "removal leaves nothing behind" ok
exit $failed
