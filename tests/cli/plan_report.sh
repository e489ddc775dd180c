# The same question for every addressing; any two of three tell the third.
try umbel plan --capacity 1e6
try umbel plan --capacity 850M --fpr 1%
try umbel plan --capacity 1e6 --fpr 0.1% --addressing classic
try umbel plan --capacity 1e6 --bits 8M --addressing classic
try umbel plan --bytes 1MiB --fpr 0.01 --addressing blocked512
try umbel plan --bytes 64KiB --capacity 10k --addressing partitioned
try umbel plan --capacity 1e6 --json
try umbel plan --capacity 1e6 --hash sip --json
try umbel plan
try umbel plan --fpr 0.01
try umbel plan --capacity 0
try umbel plan --capacity 1e6 extra
try umbel plan --bytes 100
try umbel plan --bytes 1000 --bits 1000
try umbel plan --capacity 1e6 --fpr 1e-30
