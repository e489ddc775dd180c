# Numbers out of range: each refusal names its option and what it may be.
seq 10 > keys
build() { try umbel build keys -o no.umb "$@"; }
for fpr in 0 1 -1 nan inf 200% 0% -5% 1e-400 '' x 0.1x 0.1%%; do
    build --fpr "$fpr"
done
for bits in 0 1e30 -5 nan '' 1.5 10q 18446744073709551616 1e15; do
    build --bits "$bits"
done
for hashes in 0 65 -1 1e9 4294967297 two; do
    build --hashes "$hashes"
done
for capacity in 0 -1 1e30 1e18 x; do
    build --capacity "$capacity"
done
for seed in text -1 1.5 '' 18446744073709551616; do
    build --seed "$seed"
done
absent no.umb

# What may be.
for count in 100 1e2 0.1k 0.1kB 100e0; do
    umbel build -q keys --capacity $count -o f.umb
    umbel info f.umb | grep ^capacity
done
try umbel build -q keys --seed 18446744073709551615 -o f.umb
try umbel info f.umb | grep ^seed
try umbel build -q keys --fpr 5e-1 --hashes 64 -n 1 -o f.umb
try umbel build -q keys --fpr 0.999999 -o f.umb
try umbel build -q keys --bits 1 -o f.umb

# A share as reports print it; a size of nothing is none.
umbel build keys --fpr '1 %' -q -o percent.umb && umbel info --json percent.umb | field fpr
try umbel plan --capacity 100 --bytes 0
