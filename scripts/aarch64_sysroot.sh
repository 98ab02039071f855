#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# aarch64_sysroot.sh DIR - unpack the arm64 build of the tests' libraries into DIR.
#
# apt uses package lists kept in DIR, so the machine need not be multiarch and root is not needed.
# The C library comes with the cross compiler.
set -eu

[ ! -e "$1/complete" ] || exit 0
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cd "$1/apt"
get() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::State::Lists="$PWD/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$PWD/cache" "$@"
}
get update
get download libcmocka0 libcmocka-dev libmpfr6 libmpfr-dev libgmp10 libgmp-dev
for deb in *.deb; do
    dpkg-deb -x "$deb" ..
done
cd ..
rm -rf apt
touch complete
