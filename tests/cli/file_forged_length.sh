# Lengths of the head that cannot be, where no checksum stands.
seq 10 > keys
umbel build -q keys -o good.umb
for len in 0000 0800 1d00 1e00 3f00 4100 8000 0010 0110 ffff; do
    cp good.umb f.umb
    forge poke f.umb 12 $len
    try umbel info f.umb
done
