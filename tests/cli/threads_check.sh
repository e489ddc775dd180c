# Any number of threads gives the same answers in the same order, and all those
# before the first mistake.
as() { head -c "$1" /dev/zero | tr '\0' a; }
seq 50000 > lines
seq 30000 80000 > others
: > empty
printf '1\nno\n\n\r\n2' > unended
{ seq 49000 51000; as 1048576; echo; as 90; } > long
{ seq 30000; as 1048577; echo; seq 9; } > longer
umbel build -q lines -o f
for option in '' -c -v -q --json; do
    for file in others empty unended; do
        # shellcheck disable=SC2086 # no option is no word
        same umbel check f -f $file $option
    done
done
same umbel check f -f long -v
same umbel check f -f longer
same umbel check f -f longer -c
same umbel check f -f others -f unended -f longer -f lines
in=others same umbel check f

# Long answers in JSON are not made in advance, and stand in their place.
{ seq 5; head -c 400000 /dev/zero | tr '\0' '\1'; echo; seq 5; } > control
same umbel check f -f control --json
sed 's/^\(.\{20\}\).*\(.\{20\}\)$/\1...\2/' out

# Forms of keys; the mistake is in the middle.
sed 's/$/\tfield/' lines > fields
tr '\n' '\0' < lines > records
{ seq 10000 40000 | sed 's/$/0/'; echo 123; seq 9; } > hex
{ seq 20000; echo x1; seq 9; echo x2; } > words
umbel build -q lines --addressing universal -o u
umbel build -q --hex -n 100000 -o h <<<00
same umbel check f -f fields --field 1
same umbel check f -f records -0 -c
same umbel check h -f hex -v
same umbel check u -f words

try umbel check f 1 --threads 257
try umbel check f 1 --threads 256
try umbel check -c f -f lines --threads 256
try umbel check -c f -f lines --threads 0

# An answer does not wait for the end of a stream.
mkfifo stream
timeout 1000 umbel check -q f -f stream --threads 4 &
exec 4> stream
echo 1 >&4
wait $!
echo "status $?"
