#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# test.sh COMMAND... - perfdoc makes of lines.json the page in expected.md, and its charts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/charts"
"$@" "$here/lines.json" "$made/charts" >"$made/page.md"
diff -u "$here/expected.md" "$made/page.md"

# has CHART TEXT - the chart is whole, and has this text.
has() {
    [ "$(tail -n 1 "$made/charts/$1.svg")" = "</svg>" ]
    grep -qF "$2" "$made/charts/$1.svg" || {
        echo "$1.svg has no $2"
        exit 1
    }
}
has ratio ">1.1</text>"
has ratio ">70</text>"
has ratio " width='608.0'" # and not longer
has ratio "prelu &lt;NCX>"
has bandwidth ">GB/s</text>"
has bandwidth ">768 B</text>"
has bandwidth ">3 MiB</text>"
has bandwidth ">bytes read and written</text>"
has bandwidth ">softmax, rows of 64</text>"
has bandwidth ">ceiling of softmax, rows of 64</text>"
has growth ">ns per element</text>"
has growth ">256 Ki</text>"
has threads ">threads</text>"
has threads "<title>2 times</title>"
if "$@" "$here/lines.json" "$made/no/such/folder" >"$made/page.md" 2>"$made/error"; then
    echo "a folder that is not there was not noticed"
    exit 1
fi
grep -q "cannot write" "$made/error"
