#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh spans | search | loops - prove with Frama-C's WP what proofs/wp/NAME.c says of a few functions
# of src/core, and that the proof fails for sources with a fault. The logs are in build/proofs/wp.
set -eu
cd "$(dirname "$0")/../.."
proof=$1
work=$PWD/build/proofs/wp/$proof
mkdir -p "$work/src"

# Z3 without its search for models: it would not return.
cat >"$work/z3" <<END
#!/bin/sh
exec z3 auto_config=false smt.mbqi=false "\$@"
END
chmod +x "$work/z3"
export WHY3CONFIG="$work/why3.conf"
cat >"$WHY3CONFIG" <<END
[main]
magic = 14
memlimit = 1000
[partial_prover]
name = "Z3"
path = "$work/z3"
version = "$(z3 --version | sed 's/.*version \([0-9.]*\).*/\1/')"
[partial_prover]
name = "CVC4"
path = "$(command -v cvc4)"
version = "$(cvc4 --version | sed -n 's/.*CVC4 version \([0-9.]*\).*/\1/p')"
END

# weave FILE ANNOTATIONS FUNCTION... - these functions of a file of src/core, with their annotations
weave() {
    file=$work/src/$1.c
    annotations=$2
    shift 2
    {
        grep '^#define MAX_BYTES' "$file" || true
        for function in "$@"; do
            sed -n "/^[a-z].*\b$function(/,/^}/p" "$file"
        done
    } >"$work/$annotations.c"
    proofs/wp/weave.py "$work/$annotations.c" "proofs/wp/$annotations.acsl" \
        >"$work/woven_$annotations.c"
}

# prove LOG FUNCTIONS [DEFINE] - all goals of these functions
prove() {
    "weave_$proof"
    wp "$1" "$2" "${3-}" "proofs/wp/$proof.c" -wp-rte
}

# prove_wide LOG FUNCTIONS - the same for functions that compute with 128 bits: with unbounded
# integers, whose size annotations bound, so that no goals about overflow are made
prove_wide() {
    "weave_$proof"
    wp "$1" "$2" "" -no-warn-signed-overflow -rte -rte-select "$2" "proofs/wp/$proof.c" \
        -then -no-rte -warn-signed-overflow -wp-model +nat
}

# wp LOG FUNCTIONS DEFINE OPTION...
wp() {
    log=$work/$1.log
    functions=$2
    define=$3
    shift 3
    frama-c -no-unicode -machdep gcc_x86_64 \
        -cpp-extra-args="-I$work -I$PWD/include -I$PWD/src $define" "$@" -wp -wp-fct "$functions" \
        -wp-prover z3-nobv,cvc4 -wp-timeout 20 -wp-par 2 >"$log" 2>&1 || { cat "$log"; exit 1; }
    grep 'Proved goals:' "$log"
    grep -q 'Proved goals: *\([0-9]*\) / \1$' "$log"
}

# refute PROVE FILE FUNCTION SED - with this change to a source, the proof of a function must fail
refute() {
    sed "$4" "src/core/$2.c" >"$work/src/$2.c"
    if cmp -s "src/core/$2.c" "$work/src/$2.c"; then
        echo "$2.c has no $4"
        exit 1
    fi
    if "$1" refuted "$3"; then
        echo "$3 is proved with a fault: $4"
        exit 1
    fi
    cp "src/core/$2.c" "$work/src/"
}

weave_spans() {
    weave check check first_dim_too_large vjpi_check_tensor
    weave layout layout vjpi_numel
    weave overlap overlap vjpi_tensor_span
}

prove_spans() {
    prove definitions unfold,unfold_offset -DDEFINITIONS
    prove spans first_dim_too_large,vjpi_check_tensor,vjpi_numel,vjpi_tensor_span,\
element_lies_in_span,product_grows,index_times_stride,along,size_of
    refute prove check first_dim_too_large 's/ || reach > MAX_BYTES//'
    refute prove overlap vjpi_tensor_span 's/(tensor->shape\[d\] - 1) \*/tensor->shape[d] */'
}

weave_search() {
    sed -n '/^#define MAX_TERMS/,/^} search;/p' "$work/src/overlap.c" |
        grep -v '^__extension__ typedef' >"$work/search_types.c"
    weave overlap search add_term add_tensor greatest_common_divisor floor_multiple floor_divide \
        find has_solution size_of_stride repeats_stride is_nested meet_from vjpi_overlaps_itself \
        vjpi_overlap vjpi_same_view
}

prove_search() {
    prove narrow add_term,add_tensor,greatest_common_divisor,size_of_stride,repeats_stride,\
vjpi_overlaps_itself,vjpi_same_view,accepted_is_small,factor_fits,outer_factor,\
sum_of_products
    prove_wide wide floor_multiple,floor_divide,find,has_solution,is_nested,vjpi_overlap,between
    refute prove_wide overlap is_nested 's/int i = all->count - 1;/int i = all->count;/'
}

weave_loops() {
    sed -i -E 's/(loop->dims\[.*\]|\*outer) = (loop->dims\[.*\]|\*[a-z]+);/copy_dim(\&\1, \&\2);/' \
        "$work/src/layout.c"
    weave layout loops turn_upwards magnitude insert_sorted can_merge
}

prove_loops() {
    prove definitions reveal -DDEFINITIONS
    prove loops turn_upwards,magnitude,insert_sorted,can_merge,one_more,merged_way
    refute prove layout turn_upwards 's/(dim->n - 1) \*/dim->n */'
    refute prove layout insert_sorted 's/loop->dims\[at - 1\];/loop->dims[at];/'
}

cp src/core/check.c src/core/layout.c src/core/overlap.c "$work/src/"
"prove_$proof"
