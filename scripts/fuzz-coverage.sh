#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz-coverage.sh - print the lines and branches that each fuzz target's inputs reach.
#
# Replays tests/fuzz/corpus/<target> and what `make fuzz` found, build/fuzz/corpus/<target>, and
# prints a table of reached/all for each part of the sources. build/fuzz-coverage/<target>.txt has
# every line with its execution count.
set -eu
cd "$(dirname "$0")/.."

build=build/fuzz-coverage
objects=$(find $build -name '*.so' | sed 's/^/-object /')

# From llvm-cov's report: columns 8, 9 are lines and lines missed, 11, 12 branches.
summarize() {
    awk -v target="$1" -v root="$PWD/" '
        $1 ~ /\.[ch]$/ {
            file = $1
            sub(root, "", file)
            if (file !~ /^(src\/core|src\/cpu|compat|tools)\//) next
            split(file, part, "/")
            area = part[1] "/" part[2]
            lines[area] += $8; missed[area] += $9; branches[area] += $11; untaken[area] += $12
        }
        END {
            for (area in lines) if (lines[area] > missed[area])
                printf "%-12s %-18s %5d/%-5d lines  %5d/%-5d branches\n", target, area,
                    lines[area] - missed[area], lines[area], branches[area] - untaken[area],
                    branches[area]
        }' | sort
}

for target in "$build"/tests/fuzz/fuzz_*; do
    name=${target##*/fuzz_}
    found=$build/corpus/$name
    profile=$build/$name
    rm -rf "$found"
    mkdir -p "$found"
    cp -r "build/fuzz/corpus/$name/." "$found" 2>/dev/null || true # a fuzzer may be running there
    LLVM_PROFILE_FILE=$profile.profraw "$target" "tests/fuzz/corpus/$name" "$found" >"$profile.log"
    llvm-profdata merge -o "$profile.profdata" "$profile.profraw"
    # shellcheck disable=SC2086 # a list of options
    llvm-cov report -instr-profile="$profile.profdata" "$target" $objects | summarize "$name"
    # shellcheck disable=SC2086
    llvm-cov show -instr-profile="$profile.profdata" "$target" $objects >"$profile.txt"
done
