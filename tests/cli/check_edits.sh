# check --edits 1: one character deleted, replaced or inserted makes a member.
printf 'password\nletmein\n' | umbel build - --fpr 1e-7 -q -o bad.umb
printf 'passw0rd\nletmeinn\nassword\npassword\nsecure\npasssw0rd\n' > asked
umbel check bad.umb -f asked --edits 1
echo "$?"
umbel check bad.umb -f asked --edits 1 -c
umbel check bad.umb -f asked --edits 1 -v
umbel check bad.umb Letmein --edits 1 --json
umbel check bad.umb Letmein
echo "$?"

# A filter whose rate is too high for this many look-ups is used, with a warning.
seq 1000 | umbel build - -q -o high.umb
try umbel check high.umb 12x4 --edits 1

# It is for text, one filter, and one edit.
try umbel check bad.umb a --edits 2
try umbel check bad.umb a --edits 1 --values
printf '70617373\n' | umbel build - --hex -q -o hex.umb
try umbel check hex.umb 70617373 --edits 1
