# The filter that errs least for its bytes on the wire, and it keeps its word.
try umbel plan --capacity 1e6 --wire 2MB --max-memory 6MB --addressing classic
try umbel plan --capacity 1e6 --wire 2MB --max-memory 3MB
try umbel plan --capacity 1e6 --wire 2MB --json
try umbel plan --capacity 1e6 --wire 100
try umbel plan --capacity 1e6 --wire 2MB --kind counting
try umbel plan --capacity 1e6 --wire 2MB --kind generalized
try umbel plan --capacity 1e6 --wire 2MB --kind ribbon
try umbel plan --wire 2MB
try umbel plan --capacity 1e6 --max-memory 2MB --bits 1000
try umbel plan --capacity 1e6 --wire 2MB --fpr 0.1

seq 1 100000 > keys
for wire in 100000 200000 400000; do
    for memory in 300000 3MB 30MB; do
        umbel plan --capacity 1e5 --wire $wire --max-memory $memory --json > plan
        umbel build -q keys --bits "$(field bits < plan)" \
            --hashes "$(field hashes < plan)" --coded -o f.umb
        [ "$(wc -c < f.umb)" -le $wire ] || echo "$wire $memory: too large"
        [ "$(umbel info --json f.umb | field payload_bytes)" -le \
            "$(numfmt --from si "${memory%B}")" ] || echo "too much memory"
    done
done

# The command that it prints makes the planned file, whatever was asked for.
fixed_secret key 1
for shape in "" "--addressing classic --hashes 2" "--seed 7 --hash xxh128" \
    "--groups 2 --addressing blocked256" "--param groups=3" \
    "--hash sip --key-file key" "--kind bloom --field 1 --delimiter ,"; do
    # shellcheck disable=SC2086
    umbel plan --capacity 1e5 --wire 200000 --max-memory 1MB $shape > plan
    command=$(sed -n 's/^command *//p' plan)
    echo "$command"
    command=${command/KEYS/keys}
    ${command/FILE/f.umb} -q
    [ "$(wc -c < f.umb)" -le 200000 ] || echo "too large"
    for name in addressing hash seed groups bits hashes; do
        printf '%s ' "$(umbel info --json f.umb | field $name)"
    done
    echo
done

# The plan says what the file will have: two lines at most are left of it, or
# half a per cent.
for keys in 100 1000 10000 100000; do
    seq $keys > keys
    for bits in 7 10 20; do
        for times in 1 3 30; do
            wire=$((keys * bits / 8 + 300))
            umbel plan --capacity $keys --wire $wire --max-memory $((wire * times)) \
                --json > plan || continue
            umbel build -q keys --bits "$(field bits < plan)" \
                --hashes "$(field hashes < plan)" --coded -o f.umb
            said=$(field wire_bytes < plan) has=$(wc -c < f.umb)
            spare=$((128 > said / 200 ? 128 : said / 200))
            [ "$has" -le "$said" ] && [ $((said - has)) -le $spare ] ||
                echo "$keys keys, $wire bytes: said $said, has $has"
        done
    done
done
