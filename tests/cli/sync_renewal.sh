# A directory that was copied or restored from a backup warns, also with -q.
names() {
    sed 's/[0-9a-f]\{64\}/ORIGIN/g'
}
renewed() {
    grep -o '"renewed": [a-z]*'
}
copy() {
    cp -a a backup && rm -r a && mv backup a
}
for d in a b; do
    umbel sync -q --init $d --name $d -n 1000
done
echo one | umbel add -q a
umbel sync -q a b

echo "--- noticed by add, and the next exchange still reports it"
copy
echo two | umbel add -q a
echo three | umbel add -q a
umbel sync --json a b | renewed
umbel sync --json a b | renewed

echo "--- noticed by sync, here and on the other side"
copy
umbel sync -q a b
copy
umbel sync --json b a | renewed
copy
umbel sync -q "b" "exec:umbel sync --stdio a"
umbel sync --json a b | renewed

echo "--- noticed when rules change"
copy
umbel sync -q a --max-origins 20
umbel sync -q a b

echo "--- nothing to restore: no count is added twice"
origin=$(umbel info --json b | sed 's/.*"origin": "\([0-9a-f]*\)".*/\1/')
echo four | umbel add -q b
umbel sync -q a b
umbel sync a --restore "$origin" 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
umbel info a | sed -n '/^filters/p'

echo "--- restored many times: its filters are joined"
for d in a c; do
    rm -rf $d
    umbel sync -q --init $d --name $d -n 1000
done
for i in $(seq 24); do
    echo "key $i" | umbel add -q a 2>/dev/null
    umbel sync -q a c 2>/dev/null || echo "exit $?"
    copy
done
seq -f 'key %g' 24 | umbel check -c a -f -
seq -f 'key %g' 24 | umbel check -c c -f -
for d in a c; do
    [ "$(ls $d/copy-* | wc -l)" -le 10 ] && echo few
done
umbel sync --json a c 2>/dev/null | grep -o '"refused": [^,]*'
