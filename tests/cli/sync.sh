# Directories that several machines write.
word() {
    umbel info --json "$1" | sed 's/.*"agreement": "\([0-9a-f]*\)".*/\1/'
}
same() {
    [ "$(word "$1")" = "$(word "$2")" ] && echo "$1 and $2 agree"
}
for d in a b c; do
    umbel sync -q --init "$d" --name "$d" -n 10000 --kind counting
done
seq 100 | umbel add -q a
seq 51 150 | umbel add -q b
umbel sync -q a b
same a b
echo 60 | umbel add -q b
umbel sync -q c "exec:umbel sync --stdio b"
same b c
umbel sync --json a c | grep -o '"cells_changed": [0-9]*' | sed 's/[1-9][0-9]*/some/'
umbel sync --json a b | grep -o '"cells_changed": [0-9]*'
umbel check --values a 1 60 150 200
umbel check c 1 200
umbel check b -c -f <(seq 200)
umbel info b | sed -n '/^kind/p; /^filters/p; /^keys/p'

echo "--- refused"
umbel sync -q --init d --name d -n 20000 --kind counting
umbel sync a d
umbel sync --init e --name e -n 10 --kind aging
seq 3 | umbel add --remove a
umbel sync a a
umbel sync a missing
umbel sync a
umbel sync a exec:true
umbel sync --init a --name again -n 10
umbel sync --init f -n 10
[ "$(stat -c %a a/key)" = 600 ] && echo "the key is ours alone"

echo "--- a copy that was changed"
for copy in c/copy-*; do break; done
echo seven | umbel add -q "$copy"
umbel info c 2>&1 | sed 's/[^ ]*copy-[0-9a-f]*-[0-9]*-[0-9]*/copy/'
