# Key forms: every form x every way to ask with the command. All members are found, others match
# as predicted, within five standard deviations.
n=2000 others=20000 fpr=0.02

# Members, as a list has them; what to ask for each of them; others.
members() {
    case $1 in
    hex) seq $n | awk '{ printf "%08x\n", $1 * 7919 }' ;;
    integer) seq $n ;;
    domain) seq $n | sed 's/.*/Name&.Example./' ;;
    network) seq $n | awk '{ printf $1 % 4 ? "10.%d.%d.7/24\n" : "2001:db8:%x:%x::/64\n", $1 / 250, $1 % 250 }' ;;
    *) seq $n | sed 's/.*/Key&/' ;;
    esac
}
asked() {
    case $1 in
    hex) members hex | tr a-f A-F ;;
    folded) members folded | tr a-z A-Z ;;
    domain) members domain | sed 's/^/WWW.x-y./; s/\.$//' ;;
    network) members network | awk -F/ '{ print $2 == 24 ? substr($1, 1, length($1) - 1) "99" : $1 "a:b" }' ;;
    *) members "$1" ;;
    esac
}
outside() {
    case $1 in
    hex) seq $others | awk '{ printf "%010x\n", $1 }' ;;
    integer) seq 1000000 $((999999 + others)) ;;
    domain) seq $others | sed 's/.*/a.b.c.other&/' ;;
    network) seq $others | awk '{ printf "172.%d.%d.1\n", $1 / 250, $1 % 250 }' ;;
    *) seq $others | sed 's/.*/Other&/' ;;
    esac
}

# NAME FOUND ASKED MATCHING ERROR: prints one line, the same if all is well.
judge() {
    awk -v name="$1" -v found="$2" -v asked="$3" -v hits="$4" -v p="$5" -v m="$others" 'BEGIN {
        five = 5 * sqrt(m * p * (1 - p)) + 1
        fine = hits >= m * p - five && hits <= m * p + five
        printf "  %-12s %s of %s found, others %s\n", name, found, asked,
            fine ? "as predicted" : hits " of " m ", not " m * p
    }'
}

for form in text hex folded integer sha1 sha256 md5 ntlm domain network; do
    echo "$form"
    more=()
    [ $form != integer ] || more=(--addressing universal)
    members $form > members
    asked $form > asked
    outside $form > outside
    umbel build members --key-form $form --fpr $fpr "${more[@]}" -q -o f.umb
    p=$(umbel info f.umb --json | field question_error)
    p=${p:-$(umbel info f.umb --json | field predicted_error)}
    judge list "$(umbel check f.umb -c -f asked)" $n "$(umbel check f.umb -c -f outside)" "$p"
    judge pipe "$(umbel check f.umb < asked | wc -l)" $n "$(umbel check f.umb < outside | wc -l)" "$p"
    judge typed "$(xargs umbel check f.umb < asked | wc -l)" $n "$(xargs umbel check f.umb < outside | wc -l)" "$p"
    judge --json "$(umbel check f.umb --json < asked | grep -c '"match": true')" $n \
        "$(umbel check f.umb --json < outside | grep -c '"match": true')" "$p"
    judge --answer "$(umbel check f.umb --answer < asked | grep -c ^1)" $n \
        "$(umbel check f.umb --answer < outside | grep -c ^1)" "$p"
    umbel verify f.umb --members members --json | field false_negatives
    umbel build --key-form $form "${more[@]}" --capacity $n --fpr $fpr -q -o g.umb < /dev/null
    umbel add g.umb members -q
    [ "$(cells f.umb)" = "$(cells g.umb)" ] || echo "  add makes another filter"
    umbel merge f.umb g.umb -q -o m.umb
    judge merge "$(umbel check m.umb -c -f asked)" $n "$(umbel check m.umb -c -f outside)" "$p"
    if [ $form != integer ]; then
        umbel build members --key-form $form --fpr $fpr --kind ribbon -q -o r.umb
        echo "  ribbon       $(umbel check r.umb -c -f asked) of $n found"
    fi
done

# Digests: as input, as questions, and as somebody's password.
printf 'hunter2\npassword\n' > plain
digest=$(printf hunter2 | sha1sum | cut -c 1-40)
printf '%s\n' "$digest" > digests
umbel build digests --key-form sha1 --hex -q -o d.umb
try umbel check d.umb hunter2 "$digest" "${digest^^}" other
try umbel check d.umb --hex "$digest" hunter2
(cat plain; echo "$digest") > both
umbel build both --key-form sha1 -q -o both.umb
try umbel check both.umb "$digest"
printf '\n' | try umbel check d.umb --answer
try umbel build digests --key-form sha1 -o twice.umb > /dev/null
printf '\xff\n' > latin
try umbel build latin --key-form ntlm -o n.umb
try umbel build both --key-form sha1 --hex -o n.umb

# Domains: both spellings, and what is none.
printf 'b\303\274cher.example\n*.ads.test\n.track.test\n' > names
umbel build names --key-form domain -q -o n.umb
try umbel check n.umb XN--BCHER-KVA.example $'www.BU\314\210CHER.Example.' ads.test x.track.test $'x\343\200\202ads.test\343\200\202' test
try umbel check n.umb '' . a..b 'a b.test' http://ads.test/ "$(printf 'a%.0s' {1..64}).test" "$(printf 'a.%.0s' {1..127})test"
try umbel check n.umb --json x.ads.test y.test
umbel build names --key-form domain --kind counting -q -o c.umb
try umbel check c.umb --values a.b.ads.test other.test
printf 'safe.ads.test\n' | umbel build --key-form domain -q -o safe.umb
try umbel check n.umb --unless safe.umb x.ads.test y.safe.ads.test

# Networks: bits after the prefix, mapped addresses, and what is none.
printf '10.1.2.3/8\n2001:db8::1/32\n192.0.2.1\n' > nets
umbel build nets --key-form network -q -o n.umb
try umbel check n.umb 10.200.0.1 10.1.0.0/16 10.0.0.0/7 ::ffff:10.9.9.9 2001:db8:f::/48 192.0.2.1 192.0.2.0/24 fe80::1
try umbel check n.umb 1.2.3 1.2.3.4/33 ::/129 010.1.1.1 fe80::1%eth0 ''
printf '172.16.0.0/12\n' | umbel add n.umb -q
try umbel check n.umb 172.17.0.1

# Forms that contradict each other.
try umbel build names --key-form domain --hex -o x.umb
try umbel build names --key-form integer -o x.umb
try umbel add n.umb names --hex
try umbel merge n.umb d.umb -o x.umb
try umbel check d.umb --also n.umb x
try umbel check n.umb --edits 1 x
