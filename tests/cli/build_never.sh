# Listed keys do not match, and the report prints what that costs.
seq 1 2000 > members
seq 2001 6000 | awk '{ print $1 "\t" 9000 / NR }' > list.tsv
try umbel build members --never list.tsv --addressing classic --bits 20000 --hashes 5 -o f.umb
try umbel build members --never list.tsv --addressing classic --bits 20000 --hashes 5 --json -o f.umb
cut -f 1 list.tsv > outside
try umbel verify f.umb --members members --outside outside
try umbel build members --never list.tsv --groups 1 --addressing classic --bits 20000 --hashes 5 --json -o one.umb
try umbel build members --never outside --groups 4 -q -o four.umb
umbel info four.umb --json | field groups

# A pipe will do when the size is known; standard input goes to one list.
seq 1 2000 | try umbel build --never list.tsv -n 2000 -q -o p.umb
seq 1 2000 | try umbel build --never list.tsv -q -o q.umb
try umbel build - --never - -n 10 -q -o q.umb < /dev/null
try umbel build members --never - --weights -q -o r.umb < list.tsv
cmp p.umb r.umb
try umbel build members --never list.tsv -q -o list.tsv
absent q.umb

# Members on the list.
seq 1991 2010 > both
try umbel build members --never both -q -o q.umb
try umbel build members --never both --allow-members --json -o q.umb
try umbel build members --allow-members -q -o q.umb
try umbel build members --never list.tsv --kind aging -q -o s.umb
absent s.umb

# Weights.
weight() {
    printf '7777\t1\n8888\t%s\n' "$1" > bad.tsv
    umbel build members --never bad.tsv -q -o t.umb
    echo "[$?]"
}
for w in -1 nan inf 1e999 '' x '1 ' 0x10; do
    weight "$w"
done
absent t.umb
weight 0
weight 1e-3
printf '7777;2\n8888;1\n' > semicolons
try umbel build members --never semicolons --weights --delimiter ';' --json -o t.umb | field never
printf '6a\t2\n6b\t1\n' > hex.tsv
printf '7777\t2\n8888\n' > half.tsv
try umbel build members --never half.tsv -q -o t.umb
printf '6a\n' > hexmembers
try umbel build hexmembers --hex --never hex.tsv -q -o t.umb
try umbel build hexmembers --hex --never hex.tsv --allow-members -q -o t.umb
try umbel build members --never missing -q -o t.umb

# A key listed twice counts once, with every method, in size and in messages.
seq 3000 > some
seq 50001 60000 > twice
seq 55001 65000 > again
sort -u twice again > once
for way in "" "--kind ribbon"; do
    # shellcheck disable=SC2086 # an option and its value
    umbel build some $way --never once --json -o once.umb | field never
    # shellcheck disable=SC2086 # an option and its value
    umbel build some $way --never twice --never again --json -o two.umb | field never
done
cmp once.umb two.umb
umbel plan --members some --never twice --never again --bytes 5000 |
    grep ' members, '

# The next edition keeps the choices of the last: a reader fetches little. The
# list without changes gives the same file.
seq 1 20000 > day1
seq 101 20100 > day2
seq 50001 51000 > list1
seq 50006 51005 > list2
umbel build day1 --never list1 -q -o old.umb
try umbel build day2 --never list2 --like old.umb -o new.umb
umbel build day1 --never list1 --like old.umb -q -o same.umb
cmp old.umb same.umb
try umbel verify new.umb --members day2 --outside list2
difference() {
    umbel diff "$1" "$2" -o d.umd --json | field bytes
}
umbel build day1 -q -o plain1.umb
umbel build day2 -n 20000 -q -o plain2.umb
[ $((2 * $(difference old.umb new.umb))) -le \
    $((5 * $(difference plain1.umb plain2.umb))) ] && echo small
try umbel build day2 --never list2 --like old.umb -n 20000 -q -o s.umb
try umbel build day2 --like old.umb -q -o s.umb
try umbel build day2 --never list2 --like missing.umb -q -o s.umb
umbel build day1 --kind counting -q -o counts.umb
try umbel build day2 --never list2 --like counts.umb -q -o s.umb
# In its own place, and by itself where nothing matches.
try umbel build day2 --never list2 --like old.umb -q -o old.umb
cmp old.umb new.umb
umbel build day1 --groups 2 --never /dev/null --json -o a.umb | field moved

# A plain filter leaves no choice.
seq 100 > plain
umbel build plain -q -o plain.umb
seq 1000 1100 > unwanted
try umbel build plain --never unwanted --like plain.umb -q -o x.umb
