#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# site.sh BUILD - build the site in build/site. Its reference of the Python package comes from the package
# itself, installed around the library of the build folder BUILD.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/build/site-tools
make build/site-tools/complete
cmake --install "$1" --prefix "$tools-library" >/dev/null
"$tools/bin/pip" install -q --disable-pip-version-check -C cmake.define.VJP_PREFIX="$tools-library" \
    -C build-dir="$tools-build" .
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --strict # --quiet would hide the warnings from --strict
echo "build/site/index.html"
