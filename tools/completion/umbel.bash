# shellcheck shell=bash
#
# Bash completion for umbel. The command itself lists its commands, its options,
# and the names that options such as --kind take.

# Options of command $2, one per line with what they take.
_umbel_options() {
    case $2 in
    bench | reproduce | clearinghouse | stopset | serve | packets) "$1" "$2" --list-options 2>/dev/null ;;
    *) "$1" --list 2>/dev/null | awk -v c="$2" '$1 == c' ;;
    esac
}

# Values of option $3 of command $2, as words; "*" where any text will do, and
# nothing if the option takes no value.
_umbel_values() {
    local words
    words=$(_umbel_options "$1" "$2" |
        awk -v o="$3=" '$2 == o { $1 = $2 = ""; print (NF > 2 ? $0 : "*") }')
    case $words in
    *@*) "$1" --list "${words##*@}" 2>/dev/null ;;
    *) echo "$words" ;;
    esac
}

# Names of studies, cases and commands, of programs that list them.
_umbel_operands() {
    case $2 in
    bench | reproduce) "$1" "$2" --list 2>/dev/null | awk '/^[^ ]/ { print $1 }' ;;
    clearinghouse | stopset | packets) ((COMP_CWORD > 2)) || "$1" "$2" --list 2>/dev/null ;;
    help) "$1" --list commands; echo kinds addressings hashes methods formats ;;
    esac
}

_umbel() {
    local umbel=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]}
    local before=${COMP_WORDS[COMP_CWORD - 1]} option="" prefix="" words=""
    local command=${COMP_WORDS[1]}

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
    [[ -n $option ]] && words=$(_umbel_values "$umbel" "$command" "$option")

    if [[ $words == "*" ]]; then
        words=""
    elif [[ -n ${words// /} ]]; then
        :
    elif ((COMP_CWORD == 1)); then
        words="$("$umbel" --list commands) help --help --version"
    elif [[ -z $prefix && $word == -* ]]; then
        words=$(_umbel_options "$umbel" "$command" |
            awk '{ sub("=", "", $2); print $2 }')
    else
        words=$(_umbel_operands "$umbel" "$command")
    fi
    if [[ -n ${words// /} ]]; then
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$word")
    fi
}
complete -F _umbel umbel
