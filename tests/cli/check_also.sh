# Several filters at once: which one a key matches.
printf '%s\n' apple pear > a
printf '%s\n' pear plum > b
printf '%s\n' plum fig > c
for f in a b c; do umbel build $f --fpr 1e-9 -q -o $f.umb; done
printf '%s\n' apple pear plum fig nut > keys
try umbel check a.umb --also b.umb --also c.umb -f keys
try umbel check a.umb --also b.umb --also c.umb -f keys --threads 3
try umbel check a.umb --also b.umb -f keys -v
try umbel check a.umb --also b.umb -f keys -c
try umbel check a.umb --also b.umb --json pear nut
try umbel check a.umb --also b.umb nut
try umbel check a.umb --also b.umb plum -q
try umbel check a.umb --also b.umb plum --confirm log
cat log
printf '1 plum\0' | try umbel check a.umb --also b.umb -0 --field 2 --delimiter ' ' | tr '\0' '\n'
try umbel check a.umb --also absent.umb nut
try umbel check a.umb --also keys nut
try umbel check a.umb --also b.umb --values nut
try umbel check a.umb --also b.umb --unless c.umb nut

# Keyed filters share the secret of --key-file.
fixed_secret secret 1
umbel build c --key-file secret --hash sip --fpr 1e-9 -q -o s.umb
try umbel check a.umb --also s.umb fig
try umbel check a.umb --also s.umb --key-file secret fig
# Integers: a key that one of them refuses ends the answers.
seq 10 > n
umbel build n --addressing universal -q -o n.umb
try umbel check a.umb --also n.umb 7 pear
also=()
for _ in {1..64}; do also+=(--also b.umb); done
umbel check a.umb "${also[@]}" pear
