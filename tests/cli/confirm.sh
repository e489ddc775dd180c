# check --confirm: keys that match go to a list, which may grow from many sides.
seq 20000 > members
umbel build members --fpr 1% -q -o list.umb
seq 30001 32000 | try umbel check list.umb --confirm false.txt -c
wc -l < false.txt

# A last line without its end is no beginning of the next key.
printf 'by hand' > hand.txt
try umbel check list.umb 7 8 --confirm hand.txt
cat hand.txt
printf 'a\0b' > null.txt
try umbel check list.umb 7 -0 --confirm null.txt | tr '\0' '\n'
tr '\0' '\n' < null.txt

# Four at once: every line is whole.
for _ in 1 2 3 4; do
    umbel check list.umb -f members --confirm together.txt -q &
done
wait
wc -l < together.txt
sort -u together.txt | wc -l

# Who is writing is not taken for somebody who forgot the end of a line.
printf 'hal' > half.txt
try forge amid half.txt $'f\n' umbel check list.umb 7 --confirm half.txt
cat half.txt
try forge locked /dev/null umbel check list.umb 7 --confirm /dev/null

# Nothing is appended to what is being read.
cp members loop.txt
try umbel check list.umb -f loop.txt --confirm loop.txt -q
try umbel check list.umb --confirm loop.txt -q < loop.txt
try umbel check list.umb -f members --confirm list.umb -q
cmp members loop.txt
try umbel check list.umb 7 --confirm none/such -q
try umbel check list.umb 7 --confirm /dev/full -q
