# SPDX-License-Identifier: Apache-2.0
#
# Completion of `vjp` for bash. What there is comes from the program's own help, so that a new
# operator or option needs no line here.

# _vjp_names - the operators. _vjp_options ARG... - the options in that help.
_vjp_names() {
    "$1" ops 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p'
}

_vjp_options() {
    "$@" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9_-]*\).*/\1/p'
}

_vjp() {
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
    local before=${COMP_WORDS[COMP_CWORD - 1]} names words='' operator='' i
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && $command == help ]]; then
        words=$("$program" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
        ((COMP_CWORD > 1)) || words+=' help --help --version'
    elif [[ $before == --op ]] || [[ $COMP_CWORD == 2 && $word != -* && $command =~ ^(ops|run)$ ]]; then
        words=$(_vjp_names "$program")
    elif [[ $word == -* ]]; then
        if [[ $command == run ]]; then
            names=" $(_vjp_names "$program" | tr '\n' ' ')"
            for ((i = 2; i < COMP_CWORD; i++)); do
                [[ $names == *" ${COMP_WORDS[i]} "* ]] && operator=${COMP_WORDS[i]}
            done
        fi
        words=$(_vjp_options "$program" "$command" ${operator:+"$operator"})
    fi
    # Where nothing is offered, -o default completes names of files.
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _vjp vjp
