# Who cuts a mapped file short ends its reader with a word, not with a signal.
seq 100000 > keys
umbel build -q keys -o f.umb
mkfifo asked
umbel check f.umb -f asked &
exec 4> asked # opens when umbel reads it, so after the filter was mapped
: > f.umb
seq 1000 >&4
exec 4>&-
wait $!
echo "status $?"
