# Lists that differ, here and over a pipe: exact, whatever keys contain.
far() {
    echo "exec:umbel reconcile --stdio $*"
}
seq 2000 > a
seq 11 2005 | sort -r > b
cp b c
umbel reconcile a c 2> /dev/null
echo "[$?]"
umbel reconcile a c --dry-run -q
echo "[$?]"
umbel reconcile a "$(far c)" --push --json | grep -o '"[ot][a-z]*_missing": [0-9]*\|"method": "[a-z]*"'
umbel reconcile a "$(far c)" -q
echo "[$?] after --push"
umbel reconcile a "$(far c)" --pull -q
echo "[$?]"
cmp <(sort a) <(sort c) && echo "the same keys"
umbel reconcile --json a "$(far c)" | sed 's/.*agreement/agreement/' > one
umbel reconcile --json c a | sed 's/.*agreement/agreement/' > two
cmp one two && echo "both print the same agreement"

echo "--- duplicates, empty lists, no newline at the end"
(seq 50; seq 50) > twice
seq 50 > once
umbel reconcile twice once -q && echo equal
: > none
umbel reconcile none "$(far once)" --both -q && cmp none once && echo filled
printf 'x\ny' > unended
umbel reconcile unended once --pull -q
head -n 3 unended

echo "--- NUL and newlines"
printf 'one\0two\nlines\0three\0' > n1
printf 'one\0' > n2
umbel reconcile -0 n1 n2 2> /dev/null | tr '\0' '@'
echo
umbel reconcile -0 n1 "$(far -0 n2)" --push -q && cmp n1 n2 && echo equal
printf 'one\n' > lines
umbel reconcile lines "$(far -0 n1)" --pull
cat lines

echo "--- large differences"
seq 1 3000 > p
seq 2001 5000 > q
umbel reconcile p "$(far q)" --both --json | grep -o '"method": "[a-z]*"'
sort -n p | cmp - <(seq 5000) && sort -n q | cmp - <(seq 5000) && echo exact

echo "--- refused"
far() { # messages of both sides would be in any order
    echo "exec:umbel reconcile --stdio $* 2> /dev/null"
}
umbel reconcile a "$(far --push c)" --push
echo extra >> c
umbel reconcile a "$(far --push c)" --push
umbel reconcile a "$(far --dry-run c)" --pull
(seq 7000 7009; echo extra) >> c
umbel reconcile a "$(far c)" --pull --limit 3
umbel reconcile a exec:true
umbel reconcile a 'exec:echo hello world, hello world'
umbel reconcile a missing
umbel reconcile a
umbel reconcile a b --limit 3
gzip -k b
umbel reconcile b.gz a --pull
umbel reconcile b.gz b -q && echo "a compressed list is read"
[ "$(wc -l < a)" = 2005 ] && echo "nothing was added"
echo "--- a list that changes meanwhile"
seq 10 > s
seq 5 20 > s2
umbel reconcile s "exec:echo new >> s; umbel reconcile --stdio s2 2> /dev/null" --both
wc -l < s
