# Eight at once lose nothing: each waits for its turn, and takes the file as the
# one before left it.
umbel build -q -n 8000 -o f.umb < /dev/null
jobs=()
for i in {1..8}; do
    seq $((i * 10000 + 1)) $((i * 10000 + 1000)) > "keys.$i"
    umbel add -q f.umb "keys.$i" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do
    wait "$job" || echo "status $?"
done
for i in {1..8}; do
    umbel verify -q f.umb --members "keys.$i" || echo "lost keys of $i"
done
ls
