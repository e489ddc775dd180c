# Every byte of the head is guarded: none can be wrong without being noticed.
seq 10 > keys
umbel build -q keys -o good.umb
i=0
for byte in $(od -An -v -tx1 -N64 good.umb); do
    cp good.umb f.umb
    printf "\\x$(printf %02x $((0x$byte ^ 255)))" |
        dd of=f.umb bs=1 seek=$i conv=notrunc status=none
    umbel info f.umb > out 2>> err
    [ $? = 2 ] && [ ! -s out ] || echo "byte $i: taken"
    i=$((i + 1))
done
sed 's/version [0-9]\{6,\}/version N/; s/of [0-9]\{5,\}/of N/' err |
    sort | uniq -c | awk '{ $1 = $1; print }'
