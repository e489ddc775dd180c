# shellcheck shell=bash
#
# Bash completion for umbel. The command itself lists its commands, its options,
# and the names that options such as --kind take.

# The names under the heading of umbel --help that names $2: "kinds (--kind):".
_umbel_names() {
    "$1" --help 2>/dev/null | awk -v title="$2" '
        /^[^ ]/ { on = index($0, title) }
        on && /^  [^ ]/ { print $1 }'
}

_umbel_commands() {
    _umbel_names "$1" commands
    _umbel_names "$1" programs
}

# The options of command or program $2.
_umbel_options() {
    if _umbel_names "$1" programs | grep -qx -- "$2"; then
        "$1" "$2" --list-options 2>/dev/null
    else
        "$1" --list-options 2>/dev/null
    fi | awk -v c="$2" '$1 == c { sub("=", "", $2); print $2 }'
}

# Values of option $2, as words; nothing where any text or file will do.
_umbel_values() {
    case $2 in
    --op) echo or and add max minus ;;
    --update) echo plain refined ;;
    --to) echo bloom ;;
    --count-over) echo never outside ;;
    --*) _umbel_names "$1" "($2)" ;;
    esac
}

_umbel() {
    local umbel=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]}
    local before=${COMP_WORDS[COMP_CWORD - 1]} option="" prefix="" words=""

    # --name=value is three words where bash breaks them at "=", else one.
    if [[ $word == --*=* ]]; then
        option=${word%%=*} prefix=$option= word=${word#*=}
    elif [[ $word == = ]]; then
        option=$before word=""
    elif [[ $before == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $before == --* ]]; then
        option=$before
    fi
    [[ -n $option ]] && words=$(_umbel_values "$umbel" "$option")

    if [[ -n $words ]]; then
        :
    elif ((COMP_CWORD == 1)); then
        words="$(_umbel_commands "$umbel") help --help --version"
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        words=$(_umbel_commands "$umbel")
    elif [[ -z $prefix && $word == -* ]]; then
        words=$(_umbel_options "$umbel" "${COMP_WORDS[1]}")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$word")
}
complete -F _umbel umbel
