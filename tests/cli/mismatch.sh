# Incompatible filters: the message names what differs.
seq 100 > keys
build() { umbel build -q keys --bits 4096 --hashes 4 "$@"; }
umbel keygen -q -o one.key
umbel keygen -q -o two.key
build -o base.umb
build --addressing classic -o addressing.umb
build --hash xxh128 -o hash.umb
build --seed 1 -o seed.umb
umbel build -q keys --bits 8192 --hashes 4 -o bits.umb
umbel build -q keys --bits 4096 --hashes 5 -o hashes.umb
build --hash sip --key-file one.key -o one.umb
build --hash sip --key-file two.key -o two.umb
for other in addressing hash seed bits hashes one; do
    try umbel merge base.umb $other.umb -o no.umb
    try umbel info base.umb $other.umb
done

# The ids of secrets are random, so only their presence is compared.
try umbel merge one.umb two.umb -o no.umb 2>&1 | sed 's/[0-9a-f]\{16\}/ID/g'
try umbel info one.umb two.umb 2>&1 | sed 's/[0-9a-f]\{16\}/ID/g'

# Capacity and error asked for are no part of the shape.
build -n 7 --fpr 0.2 -o same.umb
try umbel merge -q base.umb same.umb -o both.umb
try umbel merge base.umb same.umb seed.umb -o no.umb
absent no.umb
