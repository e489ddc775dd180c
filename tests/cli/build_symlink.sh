# A link stays a link; what it points to is replaced.
mkdir real
umbel build -q -n 10 -o real/f.umb < /dev/null
ln -s real/f.umb link.umb
seq 10 > keys
try umbel build -q keys -o link.umb
try readlink link.umb
try umbel check -c real/f.umb -f keys
ls . real

# So does one that points to nothing yet.
ln -s real/new.umb new.umb
try umbel build -q keys -o new.umb
try readlink new.umb
ls real
