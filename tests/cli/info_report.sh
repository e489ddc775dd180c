# Everything a filter says of itself.
seq 1000 > keys
umbel build -q keys -o f.umb
try umbel info f.umb
try umbel info --json f.umb
try umbel info
try umbel info f.umb f.umb f.umb

# An empty and a full filter have their limits in words.
umbel build -q -n 10 -o empty.umb < /dev/null
try umbel info empty.umb | tail -n 5
umbel build -q keys --bits 512 --hashes 8 -o full.umb
try umbel info full.umb | tail -n 6
try umbel info --json full.umb | grep -o '"keys.*'
