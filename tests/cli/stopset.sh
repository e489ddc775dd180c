# Stop sets: traces of a computed network, learned, built and replayed.
lab=$(dirname "$(readlink -f "$BASH_ENV")")/../lab
python3 "$lab/truth.py" --stubs 0 --per-dest 3 > day1.json
python3 "$lab/truth.py" --stubs 0 --per-dest 3 --cut r0,r1 --cut r1,r4 > day2.json

try umbel stopset learn day1.json -o day1.table
head -n 4 day1.table
grep -c pair day1.table

# Half and half, joined; compressed, from a pipe.
head -n 36 day1.json | umbel stopset learn - -q -o one.table
tail -n +37 day1.json | gzip | umbel stopset learn - -q -o two.table
umbel stopset learn one.table two.table -q -o both.table
cmp day1.table both.table && echo joined

# Keys: by the hop alone traces stop short at other destinations' hops.
for key in hop hop+prefix; do
    try umbel stopset build day1.table --key $key -o "red-$key.list"
done
head -n 11 red-hop+prefix.list
try umbel stopset replay red-*.list --on day2.json --table day1.table

# Forms.
try umbel stopset build day1.table --key hop+prefix --compare --bytes 640
for form in bloom retouched groups exact; do
    umbel stopset build day1.table --key hop+prefix --form $form --bytes 640 -q -o $form.umb
done
umbel info exact.umb --data
umbel check bloom.umb -c "$(tail -n 1 red-hop+prefix.list)" "10.9.9.9 10.200.1.0/24"
try umbel stopset replay exact.umb --on day2.json --table day1.table
umbel stopset replay exact.umb --on day2.json --json
# Traces of a monitor that the table does not know, and those that it was made of.
grep '"src": "10.0.0.61"' day1.json > m0.json
grep -v '"src": "10.0.0.61"' day1.json > others.json
umbel stopset learn m0.json -q -o m0.table
try umbel stopset build m0.table --key hop+prefix --form exact -o m0.umb
try umbel stopset build m0.table --key hop+prefix --form exact --fpr 20% -o m0.umb
umbel stopset build m0.table --key hop+prefix --form exact --bits 128 -q -o half.umb
for on in others m0; do
    umbel stopset replay m0.umb --on $on.json --table m0.table | tail -n +11
done
try umbel stopset build day1.table --key hop+prefix --form exact --success 0.99 -o small.umb

# Filters of two monitors, merged, are that of both; for the same bits.
for t in one two both; do
    umbel stopset build $t.table --key hop+prefix --form bloom --bits 4096 --hashes 4 -q -o $t.umb
done
umbel merge one.umb two.umb -q -o merged.umb
umbel info merged.umb --data
umbel stopset replay merged.umb --on day2.json --json | sed 's/, "probes".*//'
# Without the description the bits are the same.
for t in both merged; do
    umbel convert $t.umb --data /dev/null -q -o $t.umb
    umbel info $t.umb --json | field payload_checksum
done

# Doubletree: from the middle, with a global set and local ones.
umbel stopset build day1.table --set global --key hop+prefix --form exact -q -o global.umb
for rule in "" "--doubletree" "--local --first-hop 3" "--doubletree --local --first-hop auto --table day1.table"; do
    # shellcheck disable=SC2086 # words are wanted
    umbel stopset replay --on day1.json $rule --json | sed 's/, "success".*//'
done
try umbel stopset replay global.umb --red red-hop+prefix.list --on day2.json --local --first-hop 3

# Figures.
try umbel stopset report day1.table --key hop+prefix --on day2.json -o page
(cd page && echo *)
grep -c '<img' page/index.html
head -n 3 page/tradeoff.csv
