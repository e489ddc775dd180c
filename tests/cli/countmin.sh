# Amounts in rows of counters: never too low, summed, and what they promise.
awk 'BEGIN { for (i = 1; i <= 500; i++) printf "flow%d\t%.0f\n", i, 3e9 / i }' > flows
try umbel build flows --kind countmin --cells 816 --hashes 3 --amount-field 2 -o f.umb
try umbel check f.umb --values flow1 flow2 flow500
umbel info f.umb | grep -E '^(addressing|cell|count|row|error)'
cut -f 1 flows | umbel check f.umb --values | paste flows - |
    awk '$4 < $2 { print "too low: " $0 } END { print NR " compared" }'
cut -f 1 flows | try umbel check f.umb --threshold 1000000000

# 32 bits are too few for the sum; 64 are not.
try umbel merge --op add f.umb f.umb -q -o sum.umb
try umbel check sum.umb --values flow1 flow2
umbel build flows --kind countmin --cells 816 --hashes 3 --cell-bits 64 \
    --amount-field 2 -q -o wide.umb
try umbel merge --op add wide.umb wide.umb -q -o sum.umb
try umbel check sum.umb --values flow1 flow2
try umbel merge --op max wide.umb sum.umb -q -o max.umb
try umbel check max.umb --values flow1
try umbel add wide.umb --times 18446744073709551615 -q - <<< flow2
try umbel check wide.umb --values flow1 flow2
# Amounts that no double holds.
printf 'a\t9007199254740993\nb\t18446744073709551614\n' > large
umbel build large --kind countmin --cells 816 --hashes 3 --cell-bits 64 \
    --amount-field 2 -q -o large.umb
try umbel check large.umb --values a b
umbel build flows --kind countmin -n 500 --amount-field 2 -q -o keys.umb
try umbel plan --kind countmin -n 500 --json
cut -f 1 flows | try umbel check keys.umb -c
try umbel convert keys.umb --to bloom -o bits.umb

# What it cannot.
bad() {
    try umbel "$@" 2>&1
}
bad add f.umb --remove - <<< flow1
bad merge --op minus sum.umb wide.umb -o x.umb
bad merge --op add f.umb wide.umb -o x.umb
bad check f.umb --threshold 4294967296 flow1
bad build flows --kind countmin --cells 816 --cell-bits 48 -o x.umb
bad build flows --kind countmin --cells 816 --cell-bits 8 -o x.umb
bad build flows --kind countmin --cells 816 --update plain -o x.umb
absent x.umb
