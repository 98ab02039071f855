#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# between.sh FILE NAME - insert standard input between the lines "<!-- NAME -->" and
# "<!-- end of NAME -->" of FILE.
set -eu

fail() {
    echo "between.sh: $*" >&2
    exit 1
}

text=$(mktemp)
trap 'rm -f "$text" "$1.new"' EXIT
cat >"$text"
[ -s "$text" ] || fail "nothing came for $2 of $1, which stays as it is"
for marker in "$2" "end of $2"; do
    grep -qxF "<!-- $marker -->" "$1" || fail "$1 has no <!-- $marker -->"
done
awk -v name="$2" -v text="$text" '
    $0 == "<!-- end of " name " -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- " name " -->" {
        inside = 1
        print ""
        while ((getline line < text) > 0)
            print line
        print ""
    }' "$1" >"$1.new"
cat "$1.new" >"$1"
