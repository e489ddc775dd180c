# AND keeps every key of both sides, and drops most others.
seq 1 2000 > a
seq 1001 3000 > b
seq 1001 2000 > both
umbel build -q a -n 3000 -o a.umb
umbel build -q b -n 3000 -o b.umb
try umbel merge --op and a.umb b.umb -o both.umb
try umbel verify -q both.umb --members both
try umbel merge --op xor a.umb b.umb -o no.umb
try umbel merge --op or a.umb b.umb -o either.umb
try umbel verify -q either.umb --members a --members b
