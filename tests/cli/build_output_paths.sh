# Places where no filter can go, and odd ones where it can.
seq 10 > keys
mkdir dir
try umbel build -q keys -o dir
try umbel build -q keys -o dir/
try umbel build -q keys -o missing/f.umb
refused umbel build -q keys -o ''
try umbel build -q keys -o keys/f.umb
try umbel build -q keys -o dir/../f.umb
try umbel build -q -o ./-o -- keys
find . | sort
