# What a peer may send: all ones, half of them, a lying head, full blocks.
seq 20000 > keys
umbel build -q keys -o f.umb
head=$(($(umbel info --json f.umb | field bytes) - $(umbel info --json f.umb | field bits) / 8))
payload=$(($(wc -c < f.umb) - head))

# with_payload: the head of f.umb over the payload on standard input.
with_payload() {
    head -c "$head" f.umb > bad.umb
    cat >> bad.umb
}
# The payload's checksum is the sender's word, too: make it right.
reseal() {
    forge payload bad.umb
    forge seal bad.umb
}

echo all ones
head -c "$payload" /dev/zero | tr '\0' '\377' | with_payload
reseal
try umbel admit bad.umb
try umbel admit bad.umb --claimed 20000 --max-error 0.001

echo every second bit
head -c "$payload" /dev/zero | tr '\0' '\125' | with_payload
reseal
try umbel admit bad.umb --claimed 10000
try umbel admit bad.umb --max-error 0.0001 --json | grep -o '"admitted": [a-z]*'

echo 0.625 of the bits
head -c "$payload" /dev/zero | tr '\0' '\127' | with_payload
reseal
try umbel admit bad.umb
try umbel admit bad.umb --max-error 0.001

echo two full blocks, two empty ones
tail -c "+$((head + 1))" f.umb > cells
{
    head -c 128 /dev/zero | tr '\0' '\377'
    head -c 128 /dev/zero
    tail -c +257 cells
} | with_payload
reseal
try umbel admit bad.umb --max-error 0.02

echo a head that claims half the keys
cp f.umb bad.umb
forge claim bad.umb added 10000
umbel info --json bad.umb | field added
try umbel admit bad.umb

# Files that an earlier umbel admitted (tests/hostile/README.md).
for name in ribbon-parts-all ribbon-parts-alike near-forged; do
    cp "$(dirname "$0")/../hostile/$name.umb" .
    try umbel admit "$name.umb" --max-error 1e-6
done
