# Sizes go up to what the addressing can have; a size that no hash can use is
# refused.
seq 3 > keys
for addressing in blocked512 blocked256 classic partitioned universal; do
    for bits in 1 2 7 64 513; do
        echo "$addressing $bits"
        umbel build -q keys --addressing $addressing --bits $bits --hashes 1 \
            -o f.umb || continue
        umbel info f.umb | grep ^bits
        umbel check -c f.umb -f keys
    done
done
try umbel build -q keys --addressing partitioned --bits 10 --hashes 64 -o no.umb
try umbel build -q keys --addressing classic --bits 1 --hashes 64 -o no.umb
absent no.umb
