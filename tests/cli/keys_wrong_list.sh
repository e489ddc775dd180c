# Files that cannot be meant as lists of keys, from a name or a pipe; others get
# a warning.
seq 100 > list
umbel build list -q -o f.umb
fixed_secret secret 7
umbel keygen --sign -o key -q
umbel publish site f.umb -q
for file in f.umb secret key key.pub site/f.manifest; do
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

# Lists that are taken at their word, with a word about it.
printf '101\t5\n102\t7\n' > weighed
try umbel build list --never weighed -o b.umb -q
try umbel build list --never weighed --weights -o b.umb -q
try umbel build list --never weighed --field 1 -o b.umb -q
cp weighed weighed.tsv
try umbel build list --never weighed.tsv -o b.umb -q
try umbel retouch f.umb --members list --never weighed --dry-run -q
seq 10 | md5sum > sums
for i in 1 2 3; do echo "$i" | sha1sum | cut -c 1-40; done > hashes
umbel build hashes -o b.umb | tail -n 1
umbel build hashes --hex -o b.umb | tail -n 1
try umbel build sums -o b.umb -q
