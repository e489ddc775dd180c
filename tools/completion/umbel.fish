# Fish completion for umbel. The command itself lists its commands, its options,
# and the names that options such as --kind take.

# Options of a command, each with what it takes.
function __umbel_options
    if contains -- $argv[1] bench reproduce clearinghouse stopset serve packets
        umbel $argv[1] --list-options 2>/dev/null
    else
        umbel --list 2>/dev/null
    end | string replace -f -r -- "^$argv[1] " ''
end

# Values of an option, from its row; nothing where any text will do.
function __umbel_values
    for value in (string split -n ' ' -- $argv[2])
        if string match -q -- '@*' $value
            umbel --list (string sub -s 2 -- $value) 2>/dev/null
        else
            echo $value
        end
    end | string replace -r -- '^' $argv[1]
end

# Words that may stand at the cursor; none: the names of files.
function __umbel_words
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    if test (count $before) -lt 2
        umbel --list commands 2>/dev/null
        printf '%s\n' help --help --version
        return
    end
    set -l command $before[2]
    set -l rows (__umbel_options $command)

    # Values: of --name=value, or of the option before the cursor.
    set -l option $before[-1]
    set -l prefix ''
    if string match -q -- '--*=*' $word
        set option (string replace -r -- '=.*' '' $word)
        set prefix $option=
    end
    set -l row (string match -r -- "^$option=.*" $rows)
    if test -n "$row"
        __umbel_values "$prefix" (string replace -r -- '^[^=]*=' '' $row)
        return
    end

    if string match -q -- '-*' $word
        string replace -r -- '=.*' '' $rows
    else if contains -- $command bench reproduce
        umbel $command --list 2>/dev/null | string match -r -- '^[^ ]+'
    else if contains -- $command clearinghouse stopset packets
        test (count $before) -gt 2; or umbel $command --list 2>/dev/null
    else if test $command = help
        umbel --list commands 2>/dev/null
        printf '%s\n' kinds addressings hashes methods formats
    end
end

complete -c umbel -n 'count (__umbel_words) >/dev/null' -f -a '(__umbel_words)'
