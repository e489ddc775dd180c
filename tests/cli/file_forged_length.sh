# Lengths of the head that cannot be, where no checksum stands.
seq 10 > keys
umbel build -q keys -o good.umb
for len in 00000000 08000000 40000000 80000000 c1000000 00010000 00020000 \
    00000100 ffffffff; do
    cp good.umb f.umb
    forge poke f.umb 12 $len
    try umbel info f.umb
done
