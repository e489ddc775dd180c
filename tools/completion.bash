# Bash completion for umbel. The command itself lists its options.
_umbel() {
    local current=${COMP_WORDS[COMP_CWORD]} options
    if [ "$COMP_CWORD" = 1 ]; then
        options=$("${COMP_WORDS[0]}" --list-options 2>/dev/null |
            cut -d ' ' -f 1 | sort -u)
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    elif [[ $current == -* ]]; then
        options=$("${COMP_WORDS[0]}" --list-options 2>/dev/null |
            awk -v c="${COMP_WORDS[1]}" '$1 == c { sub("=", "", $2); print $2 }')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -o filenames -F _umbel umbel
