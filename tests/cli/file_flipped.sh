# Every byte of the head is guarded: none can be wrong without being noticed.
seq 10 > keys
umbel build -q keys -o good.umb
for ((i = 0; i < 192; i++)); do
    cp good.umb f.umb
    forge flip f.umb $i
    umbel info f.umb > out 2>> err
    [ $? = 2 ] && [ ! -s out ] || echo "byte $i: taken"
done
sed 's/version [0-9]\{6,\}/version N/; s/of [0-9]\{5,\}/of N/' err |
    sort | uniq -c | awk '{ $1 = $1; print }'
