#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# completions.sh FOLDER PROGRAM - what bash, zsh and fish offer to complete, with the files in FOLDER;
# a shell that is not here is skipped.
set -eu
folder=$1
samples=$(cd "$(dirname "$0")/../support" && pwd)/samples.h
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
ln -s "$2" "$made/vjp"
PATH=$made:$PATH
cd "$made"
touch input.npy
failed=0

# sample KIND - the name of an operator of that kind.
sample() {
    sed -n "s/^#define SAMPLE_$1 \"\(.*\)\"$/\1/p" "$samples"
}
map=$(sample MAP) fold=$(sample FOLD) rows=$(sample ROWS)

# offers SHELL LINE WORD... - what the shell offers for a line has each word; with a ! before it, it
# has not.
offers() {
    shell=$1 line=$2
    shift 2
    case $shell in
        bash) complete_bash "$line" ;;
        fish) complete_fish "$line" ;;
        zsh) complete_zsh "$line" ;;
    esac >"$made/offered"
    for word; do
        if [ "${word#!}" != "$word" ]; then
            grep -qx -e "${word#!}" "$made/offered" || continue
        else
            ! grep -qx -e "$word" "$made/offered" || continue
        fi
        echo "$shell: '$line': $word is wrong; offered: $(tr '\n' ' ' <"$made/offered")"
        failed=1
    done
}

complete_bash() {
    bash -c '. "$1"
        read -ra COMP_WORDS <<<"$2"
        [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _vjp
        printf "%s\n" "${COMPREPLY[@]}"
        ((${#COMPREPLY[@]})) || compgen -f -- "${COMP_WORDS[COMP_CWORD]}"' \
        bash "$folder/vjp.bash" "$1"
}

complete_fish() {
    HOME=$made fish --no-config -c "source '$folder/vjp.fish'; complete -C '$1'" | cut -f 1
}

# compadd and _files say what they would add.
complete_zsh() {
    zsh -f -c 'compadd() { print -l -- ${(P)2} | grep -e "^$PREFIX"; }
        _files() { print -l -- $PREFIX*(N); }
        words=(${=2}); [[ $2 == *" " ]] && words+=("")
        CURRENT=$#words PREFIX=$words[-1]
        . "$1"' zsh "$folder/_vjp" "$1"
}

for shell in bash fish zsh; do
    if ! command -v "$shell" >/dev/null; then
        echo "skipped: there is no $shell here"
        continue
    fi
    offers "$shell" "vjp " info ops run check bench help
    offers "$shell" "vjp r" run '!ops'
    offers "$shell" "vjp help b" bench
    offers "$shell" "vjp ops ${map%??}" "$map" "!$rows"
    offers "$shell" "vjp run ${rows%??}" "$rows" "!$map"
    offers "$shell" "vjp run --t" --threads
    offers "$shell" "vjp run $map --" --src --diff_dst --diff_src --use_dst --force '!--slope'
    offers "$shell" "vjp run $fold --src x --sl" --slope
    offers "$shell" "vjp run $map --src in" input.npy
    offers "$shell" "vjp bench --sh" --shape
    offers "$shell" "vjp bench --op ${fold%??}" "$fold"
    offers "$shell" "vjp bench --json in" input.npy
done
exit $failed
