# Help on standard output with exit 0; without a command the same as trouble.
# The rows of the tables are theirs; here it is about the frame.
umbel --help | grep -v '^  '
umbel --help | grep -c '^  bloom  '
try umbel -h | cmp - <(umbel --help)
try umbel help | cmp - <(umbel --help)
umbel 2>&1 > /dev/null | cmp - <(umbel --help)
umbel > /dev/null 2>&1
echo "$?"
commands=$(umbel --help | sed -n '/^commands:/,/^kinds/s/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
    try umbel "$command" --help | sed '/^$/,$d'
done
echo "lines wider than a terminal:"
for command in "" $commands; do
    umbel $command --help | awk 'length > 79'
done
try umbel check -h | tail -n 3

# Asked for help, a command does nothing else.
try umbel build nothing -o no.umb --help | head -n 1
absent no.umb

# For the shell's completion.
try umbel --list-options | grep '^keygen'
