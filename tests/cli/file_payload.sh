# A damaged payload is safe to read but gives wrong answers: refused by default,
# accepted with --no-checksum.
seq 10 > keys
umbel build -q keys -o f.umb
cp f.umb good.umb
forge flip f.umb 72
try umbel info f.umb
refused umbel info - < f.umb
try umbel check f.umb 1
try umbel verify f.umb --members keys
try umbel merge f.umb good.umb -o no.umb
try umbel merge good.umb f.umb -o no.umb
try umbel convert f.umb --fold 1 -o no.umb
try umbel add f.umb keys
absent no.umb
try umbel info --no-checksum f.umb | tail -n 4
try umbel info --no-checksum - < <(cat f.umb) | tail -n 4
try umbel check --no-checksum -c f.umb -f keys
