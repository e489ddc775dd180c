# Which origins a directory accepts.
names() {
    sed 's/[0-9a-f]\{64\}/ORIGIN/g'
}
origin() {
    umbel info --json "$1" | sed 's/.*"origin": "\([0-9a-f]*\)".*/\1/'
}
make() {
    umbel sync -q --init "$1" --name "$1" -n 1000
    echo "$1" | umbel add -q "$1"
}
for d in hub a b c; do
    make $d
done

echo "--- a limit of origins"
umbel sync hub --max-origins 3
umbel sync -q hub a && umbel sync -q hub b && echo fine
umbel sync -q hub c 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
umbel sync -q hub "exec:umbel sync --stdio c" 2>&1 | names
umbel sync -q c "exec:umbel sync --stdio hub" 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
umbel sync --json hub c 2>/dev/null | grep -o '"origins".*' | names
umbel check hub hub a b c
umbel check c hub a b c
umbel sync -q hub c --max-origins 4 && umbel check -c hub hub a b c

echo "--- a peer that passes on invented ones"
make liar
umbel sync -q liar --max-origins 100
for i in $(seq 20); do
    make "x$i"
    umbel sync -q liar "x$i" 2>/dev/null # which has a limit of its own
done
make fresh
umbel sync -q fresh liar 2>err
echo "exit $?, $(grep -c 'limit of 16' err) named"
umbel info fresh | sed -n '/^filters/p'

echo "--- dropped"
a=$(origin a)
umbel sync hub --drop "$a" | names
umbel check hub a hub
umbel sync -q hub b && umbel check hub a hub
umbel sync hub --restore "$a" | names
umbel check hub a hub
umbel sync hub --drop "$(origin hub)"
umbel sync hub --drop 1234
umbel sync hub --restore "$(origin x1)" 2>&1 | names

echo "--- allowed ones only"
umbel sync hub --allow "$a" --allow "$(origin b)" | names
umbel check hub hub a b c
umbel sync -q hub c 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
umbel sync -q hub --allow "$(origin c)" && umbel check -c hub hub a b c
umbel sync -q hub c && echo fine

echo "--- filters with little content take little space"
umbel sync -q --init large --name large -n 1000000
umbel sync -q --init reader --name reader -n 1000000
for i in 1 2 3 4; do # a restored directory begins another filter
    echo "key $i" | umbel add -q large
    umbel sync -q large reader
    cp -a large backup && rm -r large && mv backup large
done
umbel check -c reader "key 1" "key 2" "key 3" "key 4"
[ "$(cat reader/copy-* | wc -c)" -lt 100000 ] && echo small

echo "--- refused by both, and named once"
for d in x p q; do
    umbel sync -q --init $d --name $d -n 1000
done
# Copies that cannot be noticed: of the first filter, and of the next one.
fork() {
    cp -a x "$1" && rm "$1/local"
}
fork one && fork two
cp -a x y && rm -r x && mv y x && umbel sync -q x --max-origins 16 2>/dev/null
fork three && fork four
echo 1 | umbel add -q one && umbel sync -q one p
printf '%s\n' 2 | umbel add -q two && echo 3 | umbel add -q two && umbel sync -q two q
echo 4 | umbel add -q three && echo 5 | umbel add -q three && umbel sync -q three p
echo 6 | umbel add -q four && umbel sync -q four q
umbel sync --json p q 2>err | grep -o '"refused".*' | names
cut -c-60 err | names
