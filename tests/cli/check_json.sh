# One object per key, match or not; the exit code stays grep's.
seq 10 > keys
umbel build -q keys -o f.umb
try umbel check --json f.umb 1 x
try umbel check --json -v f.umb 1
try umbel check --json -c f.umb 1 x
try umbel check --json -q f.umb 1

# What JSON has to escape, and bytes that are no UTF-8 as hexadecimal.
printf '%s\0' $'a\nb\t"c\\' $'\x1b[31m\x7f' $'gr\xc3\xbc\xc3\x9fe' \
    $'\xff\xfe' $'\xed\xa0\x80' $'\xc0\xaf' $'\xf4\x90\x80\x80' $'cut \xe2\x82' \
    > odd
umbel build -q -0 odd -o odd.umb
try umbel check --json -0 odd.umb -f odd
