# Every method removes all that it is told to, and takes the same seed alike.
seq 2000 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing partitioned --fpr 0.01
umbel check f.umb -f others > never
for method in greedy anneal random-bits random min-fn max-fp ratio \
    min-fn-tracked max-fp-tracked ratio-tracked; do
    for out in a b; do
        umbel retouch f.umb --members members --never never --all -o $out.umb \
            --method $method --beta 0.5 --seed 3 --count-over outside \
            --closure --moves 100000 --json > $out.json
    done
    cmp a.umb b.umb
    echo "$method: $(field left < a.json) left," \
        "$(umbel check a.umb -f never -c) match"
done
