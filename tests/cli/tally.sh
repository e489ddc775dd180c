# Frequent keys are counted to the end, rare ones beside them in a line.
for n in $(seq 40); do
    seq "$n"
done > stream
try umbel build stream --kind tally --capacity 40 --param heavy=700 -o t.umb
seq 0 13 41 | try umbel check t.umb --values
seq 40 | try umbel check t.umb --threshold 38
umbel info --json t.umb | grep -o '"heavy": [0-9]*'
umbel info --json t.umb | grep -o '"count_limit.*counted": [0-9]*'

# Amounts.
try umbel add t.umb --times 1000000 - -q <<< 40
printf 'x\t3\ny\t0\nz\t18446744073709551615\n' > amounts
try umbel add t.umb --amount-field 2 amounts
try umbel check t.umb --values 40 x y z

# What only asks needs bits only.
try umbel convert t.umb --to bloom -o bits.umb
seq 40 | try umbel check bits.umb -c

# A table with little room fills; then 15 is as far as counts go.
try umbel build stream --kind tally --cells 512 --param heavy=1 -o full.umb
try umbel add full.umb - <<< 40
umbel info --json full.umb | grep -o '"count_limit.*counted": [0-9]*'
try umbel check full.umb --threshold 15 -c 1 40
bad() {
    try umbel "$@" 2>&1
}
bad check full.umb --threshold 16 1
bad merge t.umb t.umb -o x.umb
bad merge --op add t.umb t.umb -o x.umb
bad convert t.umb --fold 2 -o x.umb
bad add t.umb --remove amounts
bad build stream --kind tally --addressing classic -o x.umb
bad build stream --kind tally --hashes 9 -o x.umb
bad build stream --kind tally --param heavy=0 -o x.umb
bad build --kind tally -o x.umb < /dev/null
bad plan --cells 4096 --kind tally --threshold 20 --counts amounts
absent x.umb
