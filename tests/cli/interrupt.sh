# Killed in the middle, a build leaves nothing behind and an add leaves the file
# as it was. Background jobs of a shell ignore SIGINT; env undoes that.
mkfifo keys
env --default-signal=INT umbel build keys -o f.umb &
exec 4> keys # opens when umbel reads
seq 1000 >&4
kill -INT $!
wait $!
echo "$?"
exec 4>&-
ls

umbel build -q -n 10 -o f.umb < /dev/null
cp f.umb before
env --default-signal=INT umbel add f.umb keys &
exec 4> keys
seq 1000 >&4
kill -INT $!
wait $!
echo "$?"
exec 4>&-
cmp f.umb before
ls

# The lock went with it.
seq 10 > extra
try timeout 1000 umbel add -q f.umb extra
