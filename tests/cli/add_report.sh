# More keys into a file; how many were new, and when there are too many.
seq 100 > keys
seq 51 150 > extra
umbel build -q keys -n 200 -o f.umb
try umbel add f.umb extra
try umbel add --json f.umb extra
try umbel add -q f.umb extra
try umbel add f.umb < keys
try umbel add f.umb - < keys
try umbel verify -q f.umb --members keys --members extra
seq 1000 2000 > many
try umbel add f.umb many

# Nothing to add is nothing done.
try umbel add f.umb /dev/null
try umbel add
try umbel add missing.umb keys
try umbel add f.umb missing
try umbel add - keys
