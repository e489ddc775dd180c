# Lists one after the other, a file and a pipe mixed; a bad one names itself.
seq 1 5 > a
seq 6 10 > b
seq 10 > all
umbel build -q all -o all.umb
umbel build -q a b -n 10 -o ab.umb
try cmp all.umb ab.umb
umbel build -q a - -n 10 -o mixed.umb < b
try cmp all.umb mixed.umb

# The last line of a without its newline does not run into b's first.
printf '%s' "$(cat a)" > unended
umbel build -q unended b -n 10 -o unended.umb
try cmp all.umb unended.umb

try umbel build a missing b -o no.umb
mkdir dir
try umbel build a dir -o no.umb
absent no.umb
