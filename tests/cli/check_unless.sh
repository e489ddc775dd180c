# Exceptions: in FILE, unless in another.
seq 1 1000 > members
seq 501 600 > revoked
umbel build members -q -o f.umb
umbel build revoked --addressing classic --hash xxh128 --fpr 1e-6 -q -o r.umb
seq 1 2000 > asked
try umbel check f.umb --unless r.umb -c -f asked
try umbel check f.umb --unless r.umb --unless-first -c -f asked
try umbel check f.umb --unless r.umb -c --json -f asked
try umbel check f.umb --unless r.umb --unless-first -c --json -f asked
try umbel check f.umb --unless r.umb -c -v -f asked
try umbel check f.umb --unless r.umb 499 500 501 502
try umbel check f.umb --unless r.umb -v 499 500 501 502
try umbel check f.umb --unless r.umb --json 500 501
try umbel check f.umb --unless r.umb -q 501
try umbel check f.umb --unless f.umb -c -f asked
try umbel check f.umb --unless - 500 501 < r.umb

# Refusals.
try umbel check f.umb --unless missing 1
try umbel check f.umb --unless members 1
try umbel check f.umb --unless-first 1
try umbel check f.umb --unless-key-file k 1
try umbel check f.umb --unless - < /dev/null
head -c 400 r.umb > cut.umb
try umbel check f.umb --unless cut.umb 1
umbel build revoked --addressing universal -q -o u.umb
try umbel check f.umb --unless u.umb word
try umbel check f.umb --unless u.umb --unless-first word

# Secrets: one for both, or one each.
fixed_secret one 1
fixed_secret two 2
umbel build members --hash sip --key-file one -q -o f1.umb
umbel build revoked --hash sip --key-file one -q -o r1.umb
umbel build revoked --hash sip --key-file two -q -o r2.umb
try umbel check f.umb --unless r1.umb 500 501
try umbel check f.umb --unless r1.umb --unless-key-file one 500 501
try umbel check f1.umb --unless r1.umb --key-file one 500 501
try umbel check f1.umb --unless r.umb --key-file one 500 501
umbel check f1.umb --unless r2.umb --key-file one 500 501 2>&1 | sed 's/key [0-9a-f]\{16\}/key ID/g'
try umbel check f1.umb --unless r2.umb --key-file one --unless-key-file two 500 501
try umbel check f.umb --unless r.umb --unless-key-file two 500 501
umbel check f1.umb --unless r1.umb --unless-key-file one 500 501 2>&1 | sed 's/key [0-9a-f]\{16\}/key ID/g'
