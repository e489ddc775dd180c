# A difference of counts is added to the state it was taken from, once.
build() { umbel build --kind counting --cells 4096 --cell-bits 8 --hashes 4 -q "$@"; }
seq 100 | build - -n 100 -o monday.umb
cp monday.umb tuesday.umb
seq 50 150 | umbel add tuesday.umb -q
cp tuesday.umb wednesday.umb
yes 7 | head -n 9 | umbel add wednesday.umb -q
try umbel merge --op minus tuesday.umb monday.umb -o 2.umb
umbel merge --op minus wednesday.umb tuesday.umb -q -o 3.umb
umbel info 2.umb --json | field difference_from
umbel info 2.umb --json | field difference_to
cells monday.umb
cells tuesday.umb

cp monday.umb copy.umb
try umbel merge --op add copy.umb 2.umb -q -o copy.umb
[ "$(cells copy.umb)" = "$(cells tuesday.umb)" ] && echo same
try umbel merge --op add copy.umb 2.umb -q -o copy.umb
try umbel merge --op add wednesday.umb 2.umb -q -o copy.umb
try umbel merge --op add copy.umb 3.umb -q -o copy.umb
[ "$(cells copy.umb)" = "$(cells wednesday.umb)" ] && echo same

# Several at once, and differences in a row.
try umbel merge --op add monday.umb 2.umb 3.umb -q -o copy.umb
[ "$(cells copy.umb)" = "$(cells wednesday.umb)" ] && echo same
umbel merge --op add 2.umb 3.umb -q -o both.umb
umbel merge --op add monday.umb both.umb -q -o copy.umb
[ "$(cells copy.umb)" = "$(cells wednesday.umb)" ] && echo same

# Of different servers: one file for each, or as plain counts.
seq 200 300 | build - -n 100 -o other.umb
umbel merge --op add monday.umb other.umb -q -o sum.umb
try umbel merge --op add sum.umb 2.umb -q -o x.umb
try umbel merge --op add sum.umb 2.umb --as-counts -q -o sum.umb
umbel check sum.umb --values 60 120 250
try umbel merge --op minus sum.umb other.umb --as-counts -o own.umb
try umbel merge --op add own.umb other.umb other.umb -q -o sum.umb
try umbel merge monday.umb other.umb --as-counts -o x.umb
absent x.umb

# A difference is no state: other ways to merge would lose counts.
umbel build --kind counting --cells 4096 -q -o one.umb <<<a
umbel build --kind counting --cells 4096 -q -o two.umb <<<"$(printf 'a\na\nb')"
umbel merge two.umb one.umb --op minus -q -o both.umb
try umbel merge one.umb both.umb --op max -q -o wrong.umb
try umbel merge one.umb both.umb --op max --as-counts -q -o right.umb
