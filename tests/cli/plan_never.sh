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
    ways | grep "\"$1\"" | sed 's/.*"command": "//; s/", "reason".*//; s/\\\(["\\]\)/\1/g'
}
for way in retouch retouch-classic groups groups-classic ribbon ribbon-plain; do
    echo "$way: $(ways | grep "\"$way\"" | field lost) lost"
    (eval "$(command_of $way | sed 's/FILE --members/FILE -q --members/; s/ -o FILE$/ -q -o FILE/')")
    cut -f 1 list.tsv > outside
    echo "$(umbel check FILE -v -c -f members) denied, $(umbel check FILE -c -f outside) match"
    ways | grep "\"$way\"" | field bytes
    wc -c < FILE
    rm FILE
done
for way in anti-filter anti-filter-classic; do
    (eval "$(command_of $way | sed 's/ -o REVOKED;.*/ -q -o REVOKED/')")
    echo "$(umbel check FILE --unless REVOKED -v -c -f members) denied, $(ways | grep "\"$way\"" | field lost) lost"
    umbel check FILE --unless REVOKED -f outside >left
    awk -F '\t' 'NR == FNR { left[$1]; next } $1 in left { w += $2 } END { printf "%.6g\n", w }' left list.tsv
    ways | grep "\"$way\"" | field weight_left
    ways | grep "\"$way\"" | field bytes
    cat FILE REVOKED | wc -c
    rm FILE REVOKED
done

# A list that is too long for groups is sampled, and the report notes it.
seq 2001 140000 > long
umbel plan --members members --never long --bytes 1700 | sed -n '/estimated/p; /Best/p'
umbel plan --members members --never long --bytes 1700 --json | grep '"groups' | field sample

# The picture.
try umbel plan --members members --never list.tsv -q -o frontier.svg
grep -c '<svg' frontier.svg
grep -o '>ribbon<' frontier.svg | head -n 1
try umbel plan --members members --never list.tsv -q -o members

# A method that does not fit is reported.
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

# Other delimiters, of which awk takes some for a pattern.
cut -f 1 list.tsv > outside
for delimiter in ';' '^' '\'; do
    awk -F '\t' -v d="${delimiter/\\/\\\\}" '{ print $1 d $2 }' list.tsv > other
    umbel plan --members members --never other --weights --delimiter "$delimiter" --bytes 1700 --json >ways.json
    same=$(grep '"anti-filter"' ways.json | sed 's/.*"command": "//; s/", "reason".*//; s/\\\(["\\]\)/\1/g; s/ -o REVOKED;.*/ -q -o REVOKED/')
    echo "$same"
    (eval "$same")
    umbel check FILE --unless REVOKED -f outside >left
    awk -F '\t' 'NR == FNR { left[$1]; next } $1 in left { w += $2 } END { printf "%.6g\n", w }' left list.tsv
    grep '"anti-filter"' ways.json | field weight_left
done

# The commands build keys of the form that was asked for.
echo evil.example > hosts
sed -i 's/^/0.0.0.0 /' hosts
seq 50 | sed 's/.*/0.0.0.0 www&.example/' > popular
umbel plan --members hosts --never popular --key-form domain --list-format hosts > plan
sed -n 's/^command of \([a-z-]*\): umbel build hosts --key-form domain .*/\1/p' plan
for way in retouch groups ribbon; do
    eval "$(sed -n "s/^command of $way: //p" plan)" > out
    umbel check FILE www.evil.example
    rm FILE
done
