# Two that call each other at a time, and syncs that are killed.
for d in a b c; do
    umbel sync -q --init "$d" --name "$d" -n 1000 --kind counting
    echo "$d" | umbel add -q "$d"
done
word() {
    umbel info --json "$1" | sed 's/.*"agreement": "\([0-9a-f]*\)".*/\1/'
}
for i in 1 2 3 4 5; do
    echo $i | umbel add -q a
    echo $i | umbel add -q b
    umbel sync -q a 'exec:umbel sync --stdio b' &
    umbel sync -q b 'exec:umbel sync --stdio c' &
    umbel sync -q c 'exec:umbel sync --stdio a' &
    umbel sync -q b 'exec:umbel sync --stdio a' || echo "it failed"
    wait
done
for i in 1 2; do
    umbel sync -q a b
    umbel sync -q b c
done
[ "$(word a)" = "$(word c)" ] && echo "a and c agree"
umbel check --values c 1 a b c

echo "--- killed"
fail=0
for i in 1 2 3 4 5 6 7 8; do
    echo "k$i" | umbel add -q a
    umbel sync -q a b &
    sleep "0.00$i"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    umbel info a >/dev/null && umbel info b >/dev/null || fail=1
done 2>/dev/null
umbel sync -q a b
[ "$(word a)" = "$(word b)" ] && [ $fail = 0 ] && echo "a and b agree"
umbel check -c b k1 k2 k3 k4 k5 k6 k7 k8

echo "--- not umbel"
umbel sync a 'exec:head -c 44 >/dev/null; echo this is a text of some other program that is long enough'
umbel sync a 'exec:umbel sync --stdio a'
