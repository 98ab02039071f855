#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh DIR [DPKG-BUILDPACKAGE-OPTION...] - build the Debian packages of this tree into DIR, from a
# copy of the tree that has a debian/changelog: its version is that of vjp.h, its date that of the last
# commit, or of the CHANGELOG where there is no git.
set -eu
cd "$(dirname "$0")/.."
dir=$1
shift
version=$(scripts/version.sh)
seconds=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)

rm -rf "$dir"
mkdir -p "$dir/vjp-$version"
tar -c --exclude=./build --exclude=./.git . | tar -x --no-same-owner -C "$dir/vjp-$version"
cd "$dir/vjp-$version"
cat >debian/changelog <<END
vjp ($version) unstable; urgency=medium

  * Version $version: the source's CHANGELOG.md lists what changed.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -uRd "@$seconds")
END
exec dpkg-buildpackage --no-sign "$@"
