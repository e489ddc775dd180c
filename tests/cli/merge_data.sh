# Data beside the cells: the first filter's is kept; the report names data dropped.
for i in 1 2 3; do
    seq $i 100 $((i + 900)) | umbel build --addressing dcso -n 100 -q -o k.umb
    umbel convert k.umb --to dcso -q -o $i.bloom
done
printf 'feed one' >> 1.bloom
printf 'feed two' >> 2.bloom
for i in 1 2 3; do
    umbel convert $i.bloom --from dcso -q -o $i.umb
done
try umbel merge 1.umb 3.umb -o both.umb
try umbel merge 1.umb 1.umb -o both.umb
try umbel merge 3.umb 2.umb -o both.umb
try umbel merge 1.umb 2.umb -o both.umb
umbel convert both.umb --to dcso -q -o both.bloom
tail -c 8 both.bloom
echo

# Descriptions of stop sets: facts that one of them lacks, and numbers that overflow.
for i in 4 5 6; do
    cp 3.bloom $i.bloom
done
printf 'umbel-stopset set 1\nset red\nmonitors 2\n' >> 4.bloom
printf 'umbel-stopset set 1\nset red\n' >> 5.bloom
printf 'umbel-stopset set 1\nset red\nmonitors 18446744073709551615\n' >> 6.bloom
for i in 4 5 6; do
    umbel convert $i.bloom --from dcso -q -o $i.umb
done
try umbel merge 4.umb 5.umb -q -o both.umb
try umbel merge 5.umb 4.umb -q -o both.umb
try umbel merge 4.umb 6.umb -q -o both.umb
try umbel merge 4.umb 4.umb -q -o both.umb
