# Static filters: sets, lists and universes that are exact, maps.
seq 1000 >members
seq 3000 >all
try umbel build members --kind ribbon --fpr 1% -o set.umb
umbel check set.umb -f all -c
umbel check set.umb -f members -c
cat members members | umbel build --kind ribbon --fpr 1% -q --threads 2 -o again.umb
cmp set.umb again.umb && echo same
try umbel build members --kind ribbon --bits 5000 -q -o small.umb
try umbel build members --kind ribbon --bytes 1000 -q -o small.umb
wc -c <small.umb
try umbel build members --kind ribbon --universe all -o exact.umb
umbel check exact.umb -f all | cmp - members && echo exact
seq 2001 3000 | awk '{ print $1 "\t" 1 / $1 }' >list.tsv
try umbel build members --kind ribbon --never list.tsv --fpr 10% -o never.umb
seq 2001 3000 | umbel check never.umb -c
umbel check never.umb -f members -c
try umbel build members --kind ribbon --never list.tsv --bits 1500 -o left.umb
umbel build members --kind ribbon --never list.tsv --json -o x.umb | field matched
# The head of two levels counts, too: this took 7,552 bytes.
seq 10001 210000 >others
seq 10000 | umbel build --kind ribbon --never others --fpr 2% --bytes 7500 -q -o within.umb
wc -c <within.umb
awk '{ print $1 "\t" $1 % 7 }' members >table
try umbel build table --kind ribbon --value-bits 3 -o map.umb
try umbel check map.umb --values 8 9 10
try umbel check map.umb --values 700 --json
umbel check map.umb --values -f members | cmp - table && echo values
try umbel build table --kind ribbon --value-bits 3 --fpr 0.001 -q -o map.umb
try umbel check map.umb --values 8 other
try umbel info map.umb
try umbel plan --kind ribbon -n 1000000 --fpr 1%
try umbel plan --kind ribbon -n 1000000 --bytes 1000000
: >nothing
try umbel build nothing --kind ribbon -q -o empty.umb
try umbel check empty.umb 1
try umbel build nothing --kind ribbon --universe all -q -o empty.umb
# Keys in none of the lists match at the usual rate, unless asked otherwise.
try umbel build members --kind ribbon --never list.tsv -o never.umb
umbel build members --kind ribbon --never list.tsv --fpr 50% -q -o least.umb
wc -c < least.umb
# Partitions.
awk '{ print "p" $1 % 5 "\t" $1 }' all >keys
awk '$1 == "p1" || $1 == "p2" && $2 < 100 || $2 % 50 == 3' keys >some
try umbel build some --kind ribbon --universe keys --partition 1 -o parts.umb
umbel check parts.umb -f keys | cmp - some && echo exact
try umbel build some --kind ribbon --universe keys --partition-prefix 2 -q -o prefix.umb
umbel check prefix.umb -f keys | cmp - some && echo exact
try umbel verify parts.umb --members some
try umbel build some --kind ribbon --partition 1 -q -o x.umb
try umbel build some --kind ribbon --universe keys --partition 1 --fpr 1% -q -o x.umb
try umbel build some --kind ribbon --universe keys --partition-prefix 17 -q -o x.umb
try umbel build some --kind ribbon --universe some --partition 1 -q -o all.umb
umbel check all.umb -f some -c
try umbel build keys --kind ribbon --universe some --partition 1 -q -o x.umb
try umbel build some --kind ribbon --hash xxh3-field1 -q -o x.umb
try umbel build some --hash xxh3-field1 -q -o x.umb
