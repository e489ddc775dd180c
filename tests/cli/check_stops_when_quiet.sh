# -q is decided by the first match: it does not wait for the end of a stream.
seq 10 > keys
umbel build -q keys -o f.umb
mkfifo stream
timeout 1000 umbel check -q f.umb -f stream &
exec 4> stream
echo 1 >&4
wait $!
echo "status $?"
