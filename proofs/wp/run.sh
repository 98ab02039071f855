#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - prove with Frama-C's WP that the elements of every accepted descriptor lie in its span
# (spans.c), and that this proof fails for sources with a fault. The log of each is in build/proofs.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/proofs/wp
mkdir -p "$work"

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

# weave FILE FUNCTION... - these functions of a file of src/core, with their annotations
weave() {
    file=$1
    shift
    {
        grep '^#define MAX_BYTES' "$work/src/$file.c" || true
        for function in "$@"; do
            sed -n "/^[a-z].*\b$function(/,/^}/p" "$work/src/$file.c"
        done
    } >"$work/$file.c"
    proofs/wp/weave.py "$work/$file.c" "proofs/wp/$file.acsl" >"$work/woven_$file.c"
}

# prove LOG FUNCTIONS [OPTIONS] - all goals of these functions
prove() {
    log=$1
    functions=$2
    shift 2
    weave check first_dim_too_large vjpi_check_tensor
    weave layout vjpi_numel
    weave overlap vjpi_tensor_span
    frama-c -no-unicode -machdep gcc_x86_64 \
        -cpp-extra-args="-I$work -I$PWD/include -I$PWD/src $*" -wp -wp-rte -wp-fct "$functions" \
        -wp-prover z3-nobv,cvc4 -wp-timeout 20 -wp-par 2 proofs/wp/spans.c >"$log" 2>&1 ||
        { cat "$log"; exit 1; }
    grep 'Proved goals:' "$log"
    grep -q 'Proved goals: *\([0-9]*\) / \1$' "$log"
}

# refute FILE FUNCTION SED - with this change to a source, its proof must fail
refute() {
    sed "$3" "src/core/$1.c" >"$work/src/$1.c"
    if cmp -s "src/core/$1.c" "$work/src/$1.c"; then
        echo "$1.c has no $3"
        exit 1
    fi
    if prove "$work/refuted.log" "$2"; then
        echo "$2 is proved with a fault: $3"
        exit 1
    fi
    cp "src/core/$1.c" "$work/src/"
}

mkdir -p "$work/src"
cp src/core/check.c src/core/layout.c src/core/overlap.c "$work/src/"
prove "$work/definitions.log" unfold,unfold_offset -DDEFINITIONS
prove "$work/spans.log" first_dim_too_large,vjpi_check_tensor,vjpi_numel,vjpi_tensor_span,\
element_lies_in_span,product_grows,index_times_stride,along,size_of
refute check first_dim_too_large 's/ || reach > MAX_BYTES//'
refute overlap vjpi_tensor_span 's/(tensor->shape\[d\] - 1) \*/tensor->shape[d] */'
