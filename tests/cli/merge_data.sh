# Data beside the cells: the first filter's is kept; the report names data dropped.
for i in 1 2 3; do
    seq $i 100 $((i + 900)) | umbel build --addressing dcso -n 100 -q -o k.umb
    umbel convert k.umb --to dcso -q -o $i.bloom
done
printf 'feed one' >> 1.bloom
printf 'feed two' >> 2.bloom
for i in 1 2 3; do
    umbel convert $i.bloom --from dcso -q -o $i.umb
done
try umbel merge 1.umb 3.umb -o both.umb
try umbel merge 1.umb 1.umb -o both.umb
try umbel merge 3.umb 2.umb -o both.umb
try umbel merge 1.umb 2.umb -o both.umb
umbel convert both.umb --to dcso -q -o both.bloom
tail -c 8 both.bloom
echo

# Descriptions of stop sets.
describe() { # NUMBER KEY MONITORS FIRST [MORE]
    cp 3.bloom "$1.bloom"
    printf 'umbel-stopset set 1\nset red\nkey %s\nprefix 24 48\nform bloom\nmonitors %s\nlearned %s 900\nmembers 10\n%s' \
        "$2" "$3" "$4" "${5-}" >> "$1.bloom"
    umbel convert "$1.bloom" --from dcso -q -o "$1.umb"
}
describe 4 hop 2 500
describe 5 hop 3 400
describe 6 hop+prefix 1 500
describe 7 hop 18446744073709551615 500
describe 8 hop 1 500 'more facts
'
try umbel merge 4.umb 5.umb -q -o both.umb
umbel info --data both.umb
try umbel merge 4.umb 6.umb -q -o both.umb
try umbel merge 4.umb 7.umb -q -o both.umb
try umbel merge 4.umb 8.umb -q -o both.umb
try umbel merge 8.umb 4.umb -q -o both.umb
