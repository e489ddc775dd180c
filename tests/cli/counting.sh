# Repeated lines are counted; counts are printed, and decide by a threshold.
for n in $(seq 9); do
    seq "$n"
done > stream
try umbel build stream --kind counting --cells 4096 --cell-bits 5 --hashes 4 \
    --update refined -o a.umb
seq 0 9 | try umbel check a.umb --values
seq 0 9 | try umbel check a.umb --threshold 7
seq 0 9 | try umbel check a.umb --threshold 7 -c -v
try umbel check a.umb --values --threshold 7 1 2 4
try umbel check a.umb --values --json 1 x
umbel info --json a.umb | grep -o '"cell_bits.*"capacity'
umbel info --json a.umb | grep -o '"count_limit.*"sum'

# Amounts.
try umbel add a.umb --times 5 - -q <<< 100
printf 'x\t3\ny\t0\nz\t18446744073709551615\n' > amounts
try umbel add a.umb --amount-field 2 amounts
try umbel check a.umb --values 100 x y z

# Sums and largest; what is sound to take away.
try umbel merge --op add a.umb a.umb -q -o sum.umb
try umbel check sum.umb --values 1 2 z
try umbel merge --op max a.umb sum.umb -q -o max.umb
try umbel check max.umb --values 1 2
try umbel merge --op minus sum.umb a.umb -o diff.umb
try umbel add --remove a.umb - <<< 1

# Under plain, what came goes again.
umbel build stream --kind counting --cells 4096 --hashes 4 -q -o p.umb
try umbel add p.umb --remove - <<< 9
try umbel check p.umb --values 8 9
try umbel add p.umb --remove - <<< 9
printf '8\n8\n8\n' > eights
try umbel add p.umb --remove eights
try umbel check p.umb --values 8
umbel build eights --kind counting --cells 4096 --hashes 4 -q -o part.umb
try umbel merge --op minus p.umb part.umb -o rest.umb
try umbel convert p.umb --to bloom -o bits.umb
seq 9 | try umbel check bits.umb -c

# Exceptions.
umbel build eights -q -o revoked.umb
seq 9 | try umbel check a.umb --threshold 2 --unless revoked.umb -c --json
