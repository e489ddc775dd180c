# Partitions are fields that end at tabs; where no key has them, nobody meant it.
seq 1000 | awk '{ print $1 % 7 "\t" $1 }' > universe
awk 'NR % 10 == 0' universe > members
umbel build members --kind ribbon --universe universe --partition 1 --json \
    -o f.umb > report
field partitions < report
try umbel check f.umb -c -f universe
try umbel admit f.umb
try umbel admit f.umb --hash xxh3-64
tr '\t' ' ' < universe > spaced
tr '\t' ' ' < members > some
try umbel build some --kind ribbon --universe spaced --partition 1 -o no.umb
try umbel build some --kind ribbon --universe spaced --partition 2 -o no.umb
try umbel build members --kind ribbon --universe universe --partition 3 -o no.umb
try umbel build some --kind ribbon --universe spaced --partition-prefix 1 -q -o f.umb
try umbel check f.umb -c -f spaced
ls
