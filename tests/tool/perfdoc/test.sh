#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# test.sh COMMAND... - perfdoc makes of lines.json the page in expected.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$@" "$here/lines.json" >"$made/page.md"
diff -u "$here/expected.md" "$made/page.md"
if "$@" "$made/no/such/file" >"$made/page.md" 2>"$made/error"; then
    echo "a file that is not there was not noticed"
    exit 1
fi
grep -q "cannot read" "$made/error"
