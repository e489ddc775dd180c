# What is counted first is what is added then: empty lines, lone carriage
# returns and a last line without end, wherever a buffer may cut them.
count() { umbel build "$1" -q -o f.umb && umbel info --json f.umb | field capacity; }
printf 'a\r\n\r\n\nb\n\nc' > odd
count odd
printf '\n\r\n\na' > begins
count begins
printf 'a\n' > one
count one
printf 'a\r' > bare
count bare
# Lines of two bytes around the size of a read, 2 MiB less 2.
for n in 1048574 1048575 1048576; do
    { yes x | head -n $n; printf '\n\r\n\nlast'; } > long
    count long
done
