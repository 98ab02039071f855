#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# coverage.sh LINES BRANCHES - build with gcc's coverage counters, run the tests, and print the line
# and branch coverage of the core and the front-ends; build/coverage/html has a page per file. Fails
# if a folder has less than LINES or BRANCHES percent.
#
# The kernels are compiled once for each instruction set and dtype. In the table of folders a branch
# counts if it was taken in any of them; a second table lists each one separately.
set -eu
cd "$(dirname "$0")/.."
dir=build/coverage
gcovr=build/gcovr/bin/gcovr

# report OPTION... - gcovr. Several functions may come from one line of a table: functions are
# counted separately, their lines together.
report() {
    $gcovr --root . --merge-mode-functions separate --merge-lines --gcov-executable gcov "$@"
}

# rows COLUMN - lines of gcovr's table of files, summed by what COLUMN (awk) makes of the name:
# "name lines covered branches covered".
rows() {
    awk -F, "NR > 1 { name = \$1; $1; lines[name] += \$2; ran[name] += \$3
                      branches[name] += \$5; taken[name] += \$6 }
             END { for (name in lines)
                       print name, lines[name], ran[name], branches[name], taken[name] }" | sort
}

# table LINES BRANCHES - print rows as percentages; fails if one has less.
table() {
    awk -v least_lines="$1" -v least_branches="$2" '
        function percent(part, all) { return all > 0 ? 100 * part / all : 100 }
        BEGIN { printf "%-24s %7s %8s %9s %8s\n", "", "lines", "run", "branches", "taken" }
        {
            lines = percent($3, $2)
            branches = percent($5, $4)
            low = lines < least_lines || branches < least_branches
            printf "%-24s %7d %7.1f%% %9d %7.1f%%%s\n", $1, $2, lines, $4, branches, \
                   low ? "  too little" : ""
            bad = bad || low
        }
        END { exit bad }'
}

mkdir -p build
cmake --preset coverage >$dir.log
cmake --build $dir "-j$(nproc)" >>$dir.log
find $dir -name '*.gcda' -delete
# Left out: tests that do the same as others for much longer (their counts are so high that gcovr
# reports them as suspicious).
repeated='^(same_bits_.*|large_quick|example_train|conformance_generate|conformance_is_current)$'
VJP_TEST_QUICK=1 ctest --test-dir $dir "-j$(nproc)" --timeout 1800 --output-on-failure \
    -E "$repeated" >$dir.log || { cat $dir.log; exit 1; }

mkdir -p $dir/html
report --filter src/core/ --filter src/cpu/ --filter src/formulas.h --filter src/ops \
    --filter compat/infiniop/ --filter compat/dnnl_graph/ --exclude '.*/include/' \
    --csv $dir/files.csv --html-details $dir/html/index.html $dir
for object in "$dir"/CMakeFiles/vjp_loops_*.dir; do
    name=${object##*/vjp_loops_}
    report --filter src/cpu/ --filter src/formulas.h --filter src/ops --csv - "$object" |
        rows "name = \"${name%.dir}\""
done >$dir/kernels
table 0 0 <$dir/kernels
echo
status=0
# formulas.h and ops.def hold the formulas of the kernels
rows 'sub("/[^/]*$", "", name); if (name == "src") name = "src/cpu"' <$dir/files.csv |
    table "$1" "$2" || status=1
echo "Pages for each file: $dir/html/index.html"
exit $status
