#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS [TARGET] - run a fuzz target of build/fuzz for that long; without TARGET, run all
# of them, one per core at a time.
#
# A target starts from tests/fuzz/corpus/<target> and from what earlier runs found, which is kept in
# build/fuzz/corpus/<target>. Failing inputs are written to build/fuzz/crashes, and the exit status
# is then nonzero. Progress is in build/fuzz/<target>.log.
set -eu
cd "$(dirname "$0")/.."

seconds=$1
if [ $# = 1 ]; then
    for target in build/fuzz/tests/fuzz/fuzz_*; do
        echo "${target##*/fuzz_}"
    done | xargs -P "$(nproc)" -n 1 scripts/fuzz.sh "$seconds"
    exit
fi

name=$2
log=build/fuzz/$name.log
crashes=build/fuzz/crashes
found=build/fuzz/corpus/$name
mkdir -p $crashes "$found"
echo "$name: begins, $seconds s"
if build/fuzz/tests/fuzz/fuzz_"$name" -max_total_time="$seconds" -timeout=20 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$crashes/$name-" "$found" "tests/fuzz/corpus/$name" \
    >"$log" 2>&1; then
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    times >>"$log" # of this shell itself, and then of the target
    echo "$name: $inputs inputs, user and system time $(tail -n 1 "$log"), nothing failed"
else
    tail -n 60 "$log"
    echo "$name: FAILED, the input is in $crashes"
    exit 1
fi
