#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS - run every fuzz target of build/fuzz for that long, one after the other.
#
# A target starts from tests/fuzz/corpus/<target> and from what earlier runs found, which is kept in
# build/fuzz/corpus/<target>. Inputs that fail are written to build/fuzz/crashes, and the exit
# status is then 1.
set -eu
cd "$(dirname "$0")/.."

seconds=$1
crashes=build/fuzz/crashes
failed=0
mkdir -p $crashes
for target in build/fuzz/tests/fuzz/fuzz_*; do
    name=${target##*/fuzz_}
    found=build/fuzz/corpus/$name
    log=build/fuzz/$name.log
    mkdir -p "$found"
    echo "== $name, $seconds s"
    status=0
    "$target" -max_total_time="$seconds" -timeout=20 -max_len=4096 -print_final_stats=1 \
        -artifact_prefix="$crashes/$name-" "$found" "tests/fuzz/corpus/$name" >"$log" 2>&1 ||
        status=$?
    if [ $status = 0 ]; then
        sed -n '/^#.*DONE/p; /^stat::number_of_executed/p' "$log"
    else
        tail -n 60 "$log"
        echo "$name FAILED: the input is in $crashes"
        failed=1
    fi
done
exit $failed
