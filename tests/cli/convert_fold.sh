# Folded is, cell for cell, what building it that small would have given.
seq 1000 > keys
umbel build -q keys --bits 49152 --hashes 6 -o large.umb
try umbel convert large.umb --fold 4 -o small.umb
try umbel convert large.umb --fold 4 -o small.umb --json
umbel build -q keys --bits 12288 --hashes 6 -o built.umb
[ "$(cells small.umb)" = "$(cells built.umb)" ] && echo same cells
for addressing in blocked256 classic partitioned universal chunks-md5 \
    blocked128 dcso; do
    umbel build -q keys --addressing $addressing --bits 24576 --hashes 4 \
        -o large.umb
    umbel build -q keys --addressing $addressing --bits 8192 --hashes 4 \
        -o built.umb
    umbel convert -q large.umb --fold 3 -o small.umb
    [ "$(cells small.umb)" = "$(cells built.umb)" ] && echo $addressing same
done
