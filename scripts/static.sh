#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# static.sh TOOL - clang-tidy (its checks: .clang-tidy), cppcheck or shellcheck over the sources.
#
# Prints each finding that is not listed in scripts/static.known, and each entry of that list
# without a finding; fails if there are any.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
dir=build/static
raw=$dir/$1.raw
sources='^(src|compat|tools|reference|tests/support)/.*\.c$'

# How each file is compiled: without optimisation, so that the tools see the assertions.
configure() {
    cmake --preset debug -B "$dir" -DCMAKE_C_COMPILER=clang -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
}

# The files of the build; those that are not built here, without CUDA, are skipped.
built_sources() {
    sed -n "s|^ *\"file\": \"$root/\(.*\)\".*|\1|p" "$dir/compile_commands.json" |
        grep -E "$sources" | sort -u
}

# each COMMAND... - run it with arguments from standard input. A nonzero exit means that there are
# findings, which are read from its output; failing to start, or crashing, counts as a finding.
each() {
    xargs "$@" || [ $? = 123 ]
}

# Each tool's findings as lines "FILE:LINE: CHECK: MESSAGE".
run_clang_tidy() {
    each -n 1 -P "$(nproc)" clang-tidy -p "$dir" --quiet <"$dir/sources" >"$raw" 2>"$raw.log"
    sed -nE 's/^([^ ]*:[0-9]+):[0-9]+: (warning|error): (.*) \[([^]]*)\]$/\1: \4: \3/p' "$raw"
}

run_cppcheck() {
    mkdir -p "$dir/cppcheck"
    cppcheck --project="$dir/compile_commands.json" --cppcheck-build-dir="$dir/cppcheck" \
        -j "$(nproc)" --quiet --enable=warning,performance,portability,style \
        --template='{file}:{line}: {id}: {message}' -i src/cuda/kernels.cu 2>"$raw"
    sed -nE "s#^($root/)?((src|compat|tools|reference|tests/support)/.*)#\2#p" "$raw"
}

run_shellcheck() {
    find scripts tests conformance -name '*.sh' >"$dir/scripts"
    each shellcheck -f gcc <"$dir/scripts" >"$raw"
    sed -E 's/^([^:]*:[0-9]+):[0-9]+: [a-z]+: (.*) \[(.*)\]$/\1: \3: \2/' "$raw"
}

# explain TOOL - print findings that are not in the list, and entries of the list that were not
# found, unless their file was skipped.
explain() {
    awk -v tool="$1" '
        FILENAME ~ /sources$/ {
            built[$1]
            next
        }
        FILENAME ~ /known$/ {
            if ($1 == tool) {
                known[++count] = $2 " " $3
                path[count] = $2
                check[count] = $3
            }
            next
        }
        {
            split($0, part, ": ")
            file = part[1]
            sub(/:[0-9]+$/, "", file)
            explained = 0
            for (i = 1; i <= count; i++)
                if (check[i] == part[2] && (path[i] == "*" || path[i] == file ||
                                            (path[i] ~ /\/$/ && index(file, path[i]) == 1)))
                    explained = used[i] = 1
            if (!explained) {
                print
                bad = 1
            }
        }
        END {
            for (i = 1; i <= count; i++)
                if (!used[i] && (path[i] !~ /\.c$/ || path[i] in built)) {
                    print "scripts/static.known: not found any more: " known[i]
                    bad = 1
                }
            exit bad
        }' "$dir/sources" scripts/static.known -
}

mkdir -p "$dir"
configure >"$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
built_sources >"$dir/sources"
"run_$(echo "$1" | tr - _)" >"$dir/$1.found"
sed "s|^$root/||" "$dir/$1.found" | sort -u | explain "$1"
