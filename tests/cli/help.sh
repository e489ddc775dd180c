# Help on standard output with exit 0; without a command the same as trouble.
# The rows of the tables are theirs; here it is about the frame.
umbel --help | grep -v '^  '
umbel --help | wc -l
try umbel -h | cmp - <(umbel --help)
try umbel help | cmp - <(umbel --help)
umbel 2>&1 > /dev/null | cmp - <(umbel --help)
umbel > /dev/null 2>&1
echo "$?"
commands=$(umbel --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
    try umbel "$command" --help | sed '/^$/,$d'
    umbel help "$command" | cmp - <(umbel "$command" --help)
done
umbel --list commands | sort | cmp - <(sort <<< "$commands")
topics='kinds addressings hashes methods formats'
for topic in $topics; do
    try umbel help $topic | sed -n 's/^  \([a-z0-9-][a-z0-9-]*\) .*/\1/p'
    umbel help $topic | sed -n 's/^  \([a-z0-9-][a-z0-9-]*\) .*/\1/p' | cmp - <(umbel --list $topic)
done
echo "lines wider than a terminal:"
for command in "" $commands; do
    umbel $command --help | awk 'length > 79'
done
for topic in $topics; do umbel help $topic | awk 'length > 79'; done
try umbel check -h | tail -n 3
try umbel help nothing

# Asked for help, a command does nothing else.
try umbel build nothing -o no.umb --help | sed -n 1p
absent no.umb

# For the shell's completion.
try umbel --list | grep '^keygen'
try umbel --list | grep -c '^build --kind= @kinds$'
try umbel reproduce --list-options | wc -l
try umbel --list nothing
try umbel help check extra
try umbel help kinds extra
