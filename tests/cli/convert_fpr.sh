# As small as an error allows: it is reached, and the next smaller would miss it.
seq 1000 > keys
seq 5001 25000 > outside
umbel build -q keys --bits 98304 -o f.umb
try umbel convert f.umb --fpr 1% -o small.umb
try umbel verify small.umb --members keys --outside outside --json > verdict
field false_negatives < verdict
awk -v p="$(field predicted < verdict)" 'BEGIN { print (p <= 0.01) }'
umbel convert f.umb --fold 8 -o smaller.umb --json > report
awk -v p="$(field predicted_error < report)" 'BEGIN { print (p > 0.01) }'

# The report makes way for a filter on standard output.
umbel convert f.umb --fpr 1% -o - --json 2>&1 > /dev/null | field fold

# In place.
try umbel convert -q f.umb --fold 2 -o f.umb
try umbel verify -q f.umb --members keys

# A filter that cannot be folded that far is written, and the exit code reports it.
seq 50000 | umbel build --bits 779776 -q -o prime.umb
try umbel convert prime.umb --fpr 5% -o small.umb
cmp prime.umb small.umb

# A filter of exact size cannot be folded that far: it is written, and the exit
# code reports it. A filter of rounded size can.
seq 50000 > many
umbel build many --exact-size -q -o exact.umb
try umbel convert exact.umb --fpr 5% -o small.umb
cmp exact.umb small.umb
umbel build many -q -o folds.umb
umbel convert folds.umb --fpr 5% -q -o small.umb || echo "[$?]"
exact=$(wc -c < exact.umb) size=$(wc -c < folds.umb)
[ "$size" -le $((exact + exact / 200)) ] || echo "$size bytes, not $exact"
umbel info folds.umb --json | field bits
umbel info small.umb --json | field bits
try umbel build many --exact-size --bits 4096 -o x.umb
try umbel build many --exact-size --kind ribbon -o x.umb
try umbel build --exact-size -o x.umb < /dev/null
umbel plan -n 50000 --exact-size --json | field command
absent x.umb
