# What clearing bits at random costs a planned filter.
try umbel plan -n 10000 --bits 100000 --hashes 5 --addressing classic --clear 1000
try umbel plan -n 10000 --bits 100000 --hashes 5 --addressing classic --clear 1000 --json
try umbel plan -n 10000 --retouch 10%
try umbel plan -n 10000 --retouch 0.1 --quiet
try umbel plan -n 10000 --clear 1e9
try umbel plan -n 10000 --clear 0
try umbel plan -n 10000 --clear 5 --retouch 5%
try umbel plan -n 10000 --retouch 2
try umbel plan -n 10000 --groups 2 --clear 10
try umbel plan -n 10000 --kind aging --clear 10
