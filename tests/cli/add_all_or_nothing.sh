# A list that breaks off in the middle leaves the file as it was.
seq 10 > keys
umbel build -q --hex -n 1000 -o f.umb <<<00ff
cp f.umb before
printf '%s\n' 3132 3133 zz > bad
try umbel add f.umb bad
try cmp f.umb before
umbel build -q keys -n 1000 -o f.umb
cp f.umb before
try umbel add f.umb keys missing
try cmp f.umb before
ls
