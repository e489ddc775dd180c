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
