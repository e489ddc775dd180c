# Bytes that a filter carries: attached, printed as they are, and removed.
seq 100 > keys
umbel build -q keys -o f.umb
printf 'feed 7\n\0\377\n' > note
try umbel info f.umb --data
try umbel convert f.umb --data note -o noted.umb
umbel info noted.umb --data | cmp - note && echo same
umbel info noted.umb --json | field data_bytes
umbel check noted.umb -c 1 2 x

# With another form, in place, from a pipe, and for every kind.
umbel convert noted.umb --coded -q -o noted.umb
printf two | try umbel convert noted.umb --data - --raw -q -o noted.umb
umbel info noted.umb --data; echo
for kind in ribbon counting; do
    umbel build -q keys --kind $kind -o k.umb
    umbel convert k.umb -q --data note -o k.umb
    umbel info k.umb --data | cmp - note && umbel check k.umb -c 1 2
done

# In files of others.
umbel build -q keys --addressing dcso -o d.umb
umbel convert d.umb --to dcso -q --data note -o d.bloom
umbel convert d.bloom --from dcso -q -o e.umb
umbel info e.umb --data | cmp - note && echo same

# Removed.
try umbel convert noted.umb --data /dev/null -o plain.umb
cmp f.umb plain.umb && echo same

try umbel info noted.umb f.umb --data
try umbel info noted.umb --data --json
try umbel convert f.umb --data none -o x.umb
try umbel convert f.umb --data note -o note
try umbel convert f.umb --data . -o x.umb
printf x | try umbel convert - --data - -o x.umb
absent x.umb
umbel info noted.umb --data > /dev/full || echo "[$?]"
