# Gzipped files of others: whole, cut, in parts, and bombs, which are refused by
# what they begin with, long before they have filled the memory.
seq 1000 > keys
umbel build keys --addressing dcso -q -o f.umb
umbel convert f.umb --to dcso -q -o f.bloom
gzip -n -k f.bloom
# The format does not say how keys were written: --hex is not contradicted.
umbel convert f.bloom --from dcso -q -o plain.umb
umbel info plain.umb | grep -i "key form"
[ "$(cells plain.umb)" = "$(cells f.umb)" ] || echo other cells
try umbel check plain.umb 31 --hex
from() {
    try umbel convert "$@" --from dcso -q -o x.umb 2>&1
}
from f.bloom.gz
cmp x.umb plain.umb
from - < <(cat f.bloom.gz)
cmp x.umb plain.umb
head -c 900 f.bloom | gzip -n > parts.gz
tail -c +901 f.bloom | gzip -n >> parts.gz
from parts.gz
cmp x.umb plain.umb
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

# Small as files, and much to come out of them: 200 MB, in parts.
head -c 20000000 /dev/zero | gzip -1 -n > part.gz
zeros() { for ((i = 0; i < $1; i++)); do cat part.gz; done; }
zeros 10 > zeros.gz
(cat f.bloom.gz; zeros 10) > behind.gz
from zeros.gz
from - < zeros.gz
from - < <(head -c 200000000 /dev/zero)
from behind.gz

# A head that claims gigabytes, and as many zeros behind it: a file like theirs.
{
    head -c 32 f.bloom
    printf '\0\0\0\0\1\0\0\0' # 2^32 bits
} | gzip -1 -n > claims.gz
zeros 15 >> claims.gz
from claims.gz
from claims.gz --max-memory 100MiB
from f.bloom.gz --max-memory 1KiB
from - --max-memory 1KiB < <(cat f.bloom)
from f.bloom --max-memory 1KiB
absent x.umb
from f.bloom.gz --max-memory 1848
cmp x.umb plain.umb
