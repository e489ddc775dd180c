# One byte too many is not ours either, whether it follows at once or later.
seq 10 > keys
umbel build -q keys -o f.umb
cp f.umb longer.umb
printf x >> longer.umb
try umbel info longer.umb
refused umbel info - < <(cat longer.umb)
cat f.umb f.umb > twice.umb
try umbel info twice.umb
refused umbel info - < <(cat twice.umb)
