# Fish completion for umbel. The command itself lists its commands, its options,
# and the names that options such as --kind take.

function __umbel_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and echo $words[2]
end

# Options of the command on the line.
function __umbel_options
    set -l command (__umbel_command)
    umbel --list 2>/dev/null | awk -v c="$command" '$1 == c { sub("=", "", $2); print $2 }'
end

# Values of the option before the cursor.
function __umbel_values
    set -l words (commandline -opc)
    set -l command (__umbel_command)
    set -l option $words[-1]
    set -l values (umbel --list 2>/dev/null | awk -v c="$command" -v o="$option=" \
        '$1 == c && $2 == o { for (i = 3; i <= NF; i++) print $i }')
    for value in $values
        if string match -q '@*' $value
            umbel --list (string sub -s 2 $value)
        else
            echo $value
        end
    end
end

complete -c umbel -n 'test -z (__umbel_command)' -f -a '(umbel --list commands)'
complete -c umbel -n 'test (__umbel_command) = help' -f -a '(umbel --list commands) kinds addressings hashes methods'
complete -c umbel -n 'contains (__umbel_command) bench reproduce' -f -a '(umbel (__umbel_command) --list | string match -r "^[^ ]+")'
complete -c umbel -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__umbel_options)'
complete -c umbel -n 'string match -q -- "--*" (commandline -opc)[-1]' -a '(__umbel_values)'
