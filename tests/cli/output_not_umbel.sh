# A file that umbel did not write is not replaced by a filter.
seq 100 > keys
echo 'my notes' > notes
umbel build keys -n 200 -q -o f.umb
cp f.umb g.umb
seq 200 250 | umbel add g.umb -q
umbel diff f.umb g.umb -q -o d.umd
try umbel build keys -q -o notes
refused umbel merge f.umb g.umb -q -o notes
refused umbel diff f.umb g.umb -q -o notes
refused umbel patch f.umb d.umd -q -o notes
refused umbel retouch f.umb --members keys --never keys -q -o notes
try umbel convert f.umb --coded -q -o notes
cat notes
# An empty file, a filter and a difference are.
: > empty
umbel build keys -q -o empty
umbel build keys -q -o f.umb
umbel build keys -q -o d.umd
umbel build keys --addressing dcso -q -o f.umb
umbel convert f.umb --to dcso -q -o f.dcso
umbel convert f.umb --to dcso -q -o f.dcso

# Nor by what is pulled, unless an earlier pull wrote it.
umbel publish site g.umb -q
pull() { umbel pull "file://$PWD/site/g" "$@"; }
try pull -o notes
cat notes
absent notes.pull
pull -o copy -q
echo damaged > copy
pull -o copy -q
cmp copy g.umb
: > empty
pull -o empty -q
cmp empty g.umb

# Operands that changed places, and addresses that are none.
try umbel publish g.umb site
try umbel publish g.umb f.umb
umbel pull site/g -o new 2>&1 | sed "s:$PWD:/srv:"
umbel pull "$PWD/site/g" -o new 2>&1 | sed "s:$PWD:/srv:g"
try umbel pull ftp://127.0.0.1/g -o new
try umbel pull http://127.0.0.1 -o new
absent new
