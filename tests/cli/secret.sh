# Keyed filters answer only with their key.
seq 100 > keys
umbel keygen -q -o my.key
umbel keygen -q -o other.key
ids() { sed 's/[0-9a-f]\{16\}/ID/g'; }
try umbel build -q keys --hash sip --key-file my.key -o f.umb
try umbel check -c f.umb --key-file my.key -f keys
try umbel verify f.umb --key-file my.key --members keys
try umbel add -q f.umb --key-file my.key keys
try umbel info f.umb | grep -c '^secret id  *[0-9a-f]\{16\}$'

# Missing, wrong, superfluous; hints.sh looks at the words.
refused umbel build keys --hash sip -o no.umb
refused umbel check f.umb 1
refused umbel verify f.umb --members keys
refused umbel add f.umb keys
{
    try umbel check f.umb --key-file other.key 1
    try umbel add f.umb --key-file other.key keys
} 2>&1 | ids
umbel build -q keys -o plain.umb
try umbel check plain.umb --key-file my.key 1
refused umbel build keys --key-file my.key -o no.umb
refused umbel build keys --hash xxh128 --key-file my.key -o no.umb

# Merging and folding need no key.
umbel merge -q f.umb f.umb -o merged.umb 2> /dev/null # its error depends on the key
try umbel check -c merged.umb --key-file my.key -f keys
try umbel convert -q f.umb --fold 1 -o folded.umb
try umbel check -c folded.umb --key-file my.key -f keys
absent no.umb
