# Every method removes all listed keys, and equal seeds give equal results.
seq 2000 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing partitioned --fpr 0.01
umbel check f.umb -f others > never
for method in greedy anneal random-bits random min-fn max-fp ratio \
    min-fn-tracked max-fp-tracked ratio-tracked; do
    case $method in
    greedy) own=(--count-over outside) ;;
    anneal) own=(--count-over outside --moves 100000) ;;
    random-bits) own=(--closure --moves 100000) ;;
    random | min-fn*) own=(--closure) ;;
    *) own=(--count-over outside --closure) ;;
    esac
    for out in a b; do
        umbel retouch f.umb --members members --never never --all -o $out.umb \
            --method $method --beta 0.5 --seed 3 "${own[@]}" --json > $out.json
    done
    cmp a.umb b.umb
    echo "$method: $(field left < a.json) left," \
        "$(umbel check a.umb -f never -c) match"
done

# What a method does not use is refused.
for option in '--closure' '--moves 5' '--time 5' '--method ratio --moves 5' \
    '--method random --beta .5 --count-over outside' '--count-over outside' \
    '--method anneal --moves 5 --time 5' '--heaviest --seed 1' \
    '--method random-bits --time 5'; do
    # shellcheck disable=SC2086 # options and their values
    try umbel retouch f.umb --members members --never never --dry-run $option
done
