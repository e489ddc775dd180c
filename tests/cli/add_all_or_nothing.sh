# A list that breaks off in the middle leaves the file as it was.
seq 10 > keys
umbel build -q keys -n 1000 -o f.umb
cp f.umb before
printf '%s\n' 3132 3133 zz > bad
try umbel add --hex f.umb bad
try cmp f.umb before
try umbel add f.umb keys missing
try cmp f.umb before
ls
