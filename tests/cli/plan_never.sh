# Ways to keep listed keys from matching, at equal bytes.
seq 1 2000 > members
seq 2001 6000 | awk '{ print $1 "\t" 9000 / NR }' > list.tsv
try umbel plan --members members --never list.tsv --bytes 2600
try umbel plan --members members --never list.tsv --bytes 2600 --json
try umbel plan --members members --never list.tsv --fpr 5% --addressing classic

# What it tells to type does what it says.
ways() {
    umbel plan --members members --never list.tsv --bytes 1700 --json
}
command_of() {
    ways | grep "\"$1\"" | sed 's/.*"command": "//; s/", "reason".*//'
}
for way in retouch groups ribbon; do
    echo "$way: $(ways | grep "\"$way\"" | field lost) lost"
    (eval "$(command_of $way | sed 's/FILE --members/FILE -q --members/; s/ -o FILE$/ -q -o FILE/')")
    cut -f 1 list.tsv > outside
    echo "$(umbel check FILE -v -c -f members) denied, $(umbel check FILE -c -f outside) match"
    ways | grep "\"$way\"" | field bytes
    wc -c < FILE
    rm FILE
done
(eval "$(command_of anti-filter | sed 's/ -o REVOKED;.*/ -q -o REVOKED/')")
umbel check FILE --unless REVOKED -v -c -f members
umbel check FILE --unless REVOKED -c -f outside
ways | grep anti-filter | field lost
ways | grep anti-filter | field bytes
cat FILE REVOKED | wc -c

# The picture.
try umbel plan --members members --never list.tsv -q -o frontier.svg
grep -c '<svg' frontier.svg
grep -o '>ribbon<' frontier.svg | head -n 1
try umbel plan --members members --never list.tsv -q -o members

# A way that does not fit says so.
try umbel plan --members members --never list.tsv --bytes 300
try umbel plan --members members --never list.tsv --bytes 10
umbel plan --members members --never list.tsv --bytes 300 --json | grep ribbon

# Refusals.
seq 1999 2003 > both
: > none
try umbel plan --members members --never both
try umbel plan --members members --never none
try umbel plan --members none --never list.tsv
try umbel plan --members members
try umbel plan -o x.svg --capacity 5
try umbel plan --members members --never list.tsv --bits 100
try umbel plan --members members --never list.tsv --bytes 100 --fpr 1%
try umbel plan --members - --never - < none
try umbel plan --members members --never list.tsv --hash sip
absent x.svg
