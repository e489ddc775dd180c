# Gzipped files of others: whole, cut, in parts, and bombs, which are refused by
# what they begin with, long before they have filled the memory.
seq 1000 > keys
umbel build keys --addressing dcso -q -o f.umb
umbel convert f.umb --to dcso -q -o f.bloom
gzip -n -k f.bloom
from() {
    try umbel convert "$@" --from dcso -q -o x.umb 2>&1
}
from f.bloom.gz
cmp x.umb f.umb
from - < <(cat f.bloom.gz)
cmp x.umb f.umb
head -c 900 f.bloom | gzip -n > parts.gz
tail -c +901 f.bloom | gzip -n >> parts.gz
from parts.gz
cmp x.umb f.umb
rm x.umb

head -c 500 f.bloom.gz > cut.gz
from cut.gz
(cat f.bloom.gz; echo more) > tail.gz
from tail.gz
head -c 300 f.bloom | gzip -n > short.gz
from short.gz
: > empty
from empty
gzip -n -k empty
from empty.gz

# Small as files, and much to come out of them.
head -c 200000000 /dev/zero | gzip -1 -n > zeros.gz
(cat f.bloom; head -c 200000000 /dev/zero) | gzip -1 -n > behind.gz
from zeros.gz
from - < zeros.gz
from - < <(head -c 200000000 /dev/zero)
from behind.gz
absent x.umb
