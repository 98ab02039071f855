#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz-keep.sh - add to tests/fuzz/corpus, as found-*, what `make fuzz` found and it lacks.
#
# An input is kept if it takes a branch that no other input takes. How often it takes the branch
# does not matter (use_counters=0); otherwise there would be thousands.
set -eu
cd "$(dirname "$0")/.."

for target in build/fuzz/tests/fuzz/fuzz_*; do
    name=${target##*/fuzz_}
    kept=tests/fuzz/corpus/$name
    merged=build/fuzz/merged/$name
    rm -rf "$merged"
    mkdir -p "$merged"
    cp "$kept"/* "$merged"
    "$target" -set_cover_merge=1 -use_counters=0 -max_len=512 "$merged" "build/fuzz/corpus/$name" \
        >"build/fuzz/$name-merge.log" 2>&1
    added=0
    for file in "$merged"/*; do
        input=${file##*/}
        if [ ! -e "$kept/$input" ]; then
            cp "$file" "$kept/found-$(echo "$input" | cut -c1-12)"
            added=$((added + 1))
        fi
    done
    echo "$name: $added added"
done
