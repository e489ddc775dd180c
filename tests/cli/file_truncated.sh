# Cut at any byte, a file is refused, mapped or read from a pipe.
seq 10 > keys
umbel build -q keys -o f.umb
size=$(wc -c < f.umb)
echo "$size bytes"
for ((n = 0; n < size; n++)); do
    head -c $n f.umb > part
    umbel info part > out 2>> err
    [ $? = 2 ] && [ ! -s out ] || echo "cut at $n: taken"
done
sed 's/[0-9]\+ of/N of/' err | sort | uniq -c | awk '{ $1 = $1; print }'
for ((n = 0; n < size; n += 9)); do
    head -c $n f.umb | umbel info - > out 2> err
    [ $? = 2 ] && [ ! -s out ] && [ -s err ] || echo "cut at $n: taken"
done
