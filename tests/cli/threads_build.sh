# Any number of threads builds the same bytes, and finds the same first mistake.
as() { head -c "$1" /dev/zero | tr '\0' a; }
seq 60000 > lines
: > empty
printf 'one\ntwo\n\n\r\nthree' > unended
{ seq 20000; as 1048576; echo; seq 20000 30000; as 900000; } > long
{ seq 20000; as 1048577; echo; seq 9; } > longer
{ seq 20000; as 1400000; } > endless
for file in lines empty unended long longer endless; do
    same umbel build -q $file -o f.umb
done
same umbel build -q -n 1000 empty -o f.umb
same umbel build --json lines unended lines -o f.umb
same umbel build -q lines unended no-such-file lines -o f.umb

# Forms of keys; the mistake is in the middle.
sed 's/$/\tfield/' lines > fields
tr '\n' '\0' < lines > records
{ seq 10000 40000 | sed 's/$/0/'; echo 123; seq 9; } > hex
{ seq 30000; echo x1; seq 9; echo x2; } > words
same umbel build -q fields --field 1 -o f.umb
same umbel build -q fields --field 3 -o f.umb
same umbel build -q records -0 -o f.umb
same umbel build -q hex --hex -o f.umb
same umbel build -q words -n 100 --addressing universal -o f.umb

# Kinds and hashes, one of which depends on the order.
umbel keygen -q -o secret
same umbel build -q lines -n 900 --kind aging -o f.umb
same umbel build -q lines --hash sip --key-file secret -o f.umb
same umbel build -q lines --addressing classic --hash xxh128 -o f.umb

# From a pipe, whose number of keys is not known.
in=lines same umbel build -q -o f.umb
in=words same umbel build -q unended - -n 100000 -o f.umb
in=hex same umbel build -q --hex -o f.umb

try umbel build lines -o f.umb --threads 257
try umbel build lines -o f.umb --threads some

# A mistake does not wait for the end of a stream.
rm -f f.umb
mkfifo stream
timeout 1000 umbel build --hex -n 9 stream -o f.umb --threads 4 &
exec 4> stream
echo 123 >&4
wait $!
echo "status $?"
absent f.umb
