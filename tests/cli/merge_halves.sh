# The union of halves is, cell for cell, the filter of the whole.
seq 2000 > whole
head -n 1000 whole > a
tail -n 1000 whole > b
for part in whole a b; do
    umbel build -q $part -n 2000 -o $part.umb
done
try umbel merge a.umb b.umb -o ab.umb
try umbel merge a.umb b.umb -o ab.umb --json > report
[ "$(cells ab.umb)" = "$(cells whole.umb)" ] && echo same cells
[ "$(field payload_checksum < report)" = "$(cells whole.umb)" ] && echo same
sed 's/, "payload.*//' report
try umbel verify -q ab.umb --members whole

# Through pipes, over one of its own inputs, and alone.
umbel merge -q - b.umb -o - < <(cat a.umb) | cat > piped.umb
try cmp ab.umb piped.umb
try umbel merge -q a.umb b.umb -o a.umb
try cmp ab.umb a.umb
try umbel merge b.umb -o alone.umb
[ "$(cells alone.umb)" = "$(cells b.umb)" ] && echo same cells

try umbel merge -o nothing.umb
try umbel merge a.umb b.umb
try umbel merge a.umb missing.umb -o no.umb
absent no.umb
