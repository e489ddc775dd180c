# Files that cannot be meant as lists of keys, from a name or a pipe; others get
# a warning.
seq 100 > list
umbel build list -q -o f.umb
fixed_secret secret 7
umbel keygen --sign -o key -q
umbel publish shelf f.umb -q
for file in f.umb secret key key.pub shelf/f.manifest; do
    try umbel build $file -o no.umb
    try umbel check f.umb -f - < $file
    cat $file | try umbel check f.umb
done
absent no.umb
printf 'one\n\0two\n' > binary
try umbel check f.umb -f binary
try umbel build binary list -o b.umb -q
try umbel verify b.umb --members binary -q
printf 'one\0two\0' | try umbel check f.umb -0
try umbel check list 7
printf 'short' > short
try umbel check short 7
