# Same keys, same order, same seed: the same bytes, on every machine.
seq 5000 > keys
umbel build -q keys -o one.umb
umbel build -q keys -o two.umb
try cmp one.umb two.umb
for addressing in blocked512 blocked256 classic partitioned universal \
    chunks-md5 blocked128 dcso; do
    umbel build -q keys --addressing $addressing -o $addressing.umb
    echo "$addressing $(cells $addressing.umb)"
done

# Another seed, other cells.
umbel build -q keys --seed 1 -o seed.umb
echo "seed 1 $(cells seed.umb)"
