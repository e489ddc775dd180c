# What a file is, when it is not what was wanted.
seq 100 > keys
umbel build keys -q -o k.umb
(cat keys; echo new) | umbel build -n 100 -q -o l.umb
umbel build keys -n 100 -q -o k100.umb
umbel diff k100.umb l.umb -q -o d.umd
gzip -kn keys
umbel build keys --addressing dcso -q -o o.umb
umbel convert o.umb --to dcso -q -o list.bloom
gzip -kn list.bloom
umbel publish site k.umb -q

echo "as keys:"
for f in k.umb d.umd list.bloom; do
    try umbel build $f -o no.umb
    try umbel verify k.umb --members $f
    try umbel check k.umb -f $f
done
absent no.umb
# A compressed list is one.
umbel build keys.gz -q -o z.umb
cmp k.umb z.umb
try umbel verify k.umb --members keys.gz -q
try umbel check k.umb -f keys.gz -c

echo "as a filter:"
for f in keys d.umd keys.gz list.bloom list.bloom.gz site/k.manifest; do
    try umbel check $f 1
done
for f in d.umd list.bloom; do
    try umbel admit $f
    try umbel publish site $f
done
try umbel patch d.umd k100.umb -o no.umb
absent no.umb

echo "more keys than it was made for:"
try umbel build keys -n 10 -o full.umb

# Operands that changed places.
seq 100 > list
umbel build list -q -o f.umb
for words in 'check list f.umb' 'check list -f f.umb' 'add list f.umb' \
    'verify list --members f.umb' 'retouch list --members f.umb --never list --dry-run'; do
    # shellcheck disable=SC2086
    try umbel $words 2>&1 | sed 's/it does.*formats/.../'
done
# Members that were given as other keys.
try umbel verify f.umb --outside list
