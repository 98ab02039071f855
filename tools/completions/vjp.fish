# SPDX-License-Identifier: Apache-2.0
#
# Completion of `vjp` for fish. What there is comes from the program's own help, so that a new
# operator or option needs no line here.

function __vjp_words
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program $words[1]
    set -l names ($program ops 2>/dev/null | string match -r '^[a-z][a-z0-9_]*(?= )')
    if test (count $words) -eq 1; or test "$words[2..-1]" = help
        $program help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
        test (count $words) -gt 1; or printf '%s\n' help --help --version
    else if test "$words[-1]" = --op
        printf '%s\n' $names
    else if string match -q -- '-*' $word
        set -l operator
        if test $words[2] = run
            for each in $words[3..-1]
                contains -- $each $names; and set operator $each
            end
        end
        $program $words[2] $operator --help 2>/dev/null |
            string replace -rf '^  (--[a-z0-9_-]+)(?: [^ ]+)? +(.*)' '$1\t$2'
    else if test (count $words) -eq 2; and contains -- $words[2] ops run
        printf '%s\n' $names
    else
        __fish_complete_path $word
    end
end

complete -c vjp -f -a '(__vjp_words)'
