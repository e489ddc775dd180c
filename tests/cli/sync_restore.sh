# Directories that were restored from a backup, or copied: nothing is lost, and
# what happened is reported.
list() {
    seq 500
    printf '%s\n' "$@"
}
# Counts the keys 1 to 500 and others that match in directories.
show() {
    dirs=$1
    shift
    for d in $dirs; do
        echo "$d: $(umbel check -c "$d" -f <(list "$@")) of $((500 + $#))"
    done
}
begin() {
    echo "--- $1"
    rm -rf a b c d k backup
    for d in a b c; do
        umbel sync -q --init $d --name $d -n 10000
    done
    seq 500 | umbel add -q a
    umbel sync -q a b
}
add() {
    echo "$2" | umbel add -q "$1"
}
# A snapshot of a file system restores the same files: nothing shows it.
hidden() {
    rm "$1/local"
}
names() {
    sed 's/[0-9a-f]\{64\}/ORIGIN/g'
}

for how in plain hidden; do
    begin "restored, $how"
    cp -a a backup
    add a lost
    umbel sync -q a b
    rm -r a
    mv backup a
    [ $how = hidden ] && hidden a
    add a p
    umbel sync -q a b && umbel sync -q c b && echo fine
    show "a b c" lost p
    add a q
    umbel sync -q "a" "exec:umbel sync --stdio b" && echo fine
    show "a b" lost p q
done

begin "restored without an add, and with many"
cp -a a backup
add a lost
umbel sync -q a b
rm -r a
cp -a backup a
umbel sync --json a b | grep -o '"renewed": [a-z]*'
show "a b" lost
rm -r a
mv backup a
hidden a
for i in 1 2 3 4 5 6; do
    add a "p$i"
done
umbel sync --json a b | grep -o '"renewed": [a-z]*'
show "a b" lost p1 p6

begin "both restored, and a third has what both lost"
cp -a a a.backup
cp -a b b.backup
add a lost
umbel sync -q a b
umbel sync -q b c
for d in a b; do
    rm -r $d
    mv $d.backup $d
    hidden $d
    add $d "from-$d"
done
umbel sync -q a b && umbel sync -q a c && umbel sync -q a b && umbel sync -q b c && echo fine
show "a b c" lost from-a from-b

begin "a copy that runs beside it"
cp -a a k
for i in 1 2 3; do
    add a "a$i"
    add k "k$i"
    umbel sync -q a b
    umbel sync -q k c
done
umbel sync -q b c && umbel sync -q a b && umbel sync -q k c && echo fine
show "a b c k" a1 k1 a3 k3

begin "the same, and nothing shows it: two others prove that it signed both"
cp -a a k
hidden k
umbel sync -q a c
for i in 1 2; do
    add a "a$i"
    add k "k$i"
    umbel sync -q a b
    umbel sync -q k c
done
umbel sync -q b c 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
show "b c" a1 k1
umbel sync -q a b 2>&1 | names
umbel sync -q k c 2>&1 | names
umbel sync -q b c && umbel sync -q a b && umbel sync -q k c && echo fine
show "a b c k" a1 k1 a2 k2

begin "the same, and both are gone: what was kept is restored"
cp -a a k
hidden k
umbel sync -q a c
add a a1
add k k1
umbel sync -q a b
umbel sync -q k c
umbel sync --json b c 2>/dev/null | sed 's/.*"origins"/"origins"/' | names
origin=$(umbel info --json a | sed 's/.*"origin": "\([0-9a-f]*\)".*/\1/')
rm -r a k
umbel info b | sed -n '/^kept/p; /^Files/p'
umbel sync b --restore "$origin" | names
umbel sync -q c --restore "$origin"
umbel sync -q b c && echo fine
show "b c" a1 k1
umbel sync b --restore "$origin" 2>&1 | names

begin "it is gone, and two others have versions that prove nothing"
rm -r a
umbel sync -q --init a --name a -n 10000
cp -a a backup
add a one
umbel sync -q a b
rm -r a
mv backup a
hidden a
add a two
add a three
umbel sync -q a c
origin=$(umbel info --json a | sed 's/.*"origin": "\([0-9a-f]*\)".*/\1/')
rm -r a
umbel sync -q b c 2>&1 | names
echo "exit ${PIPESTATUS[0]}"
umbel sync -q b --restore "$origin" && umbel sync -q b c && echo fine
umbel check b one two three
umbel check -c c one two three

begin "no space while it continues as a new filter"
cp -a a backup
add a lost
umbel sync -q a b
rm -r a
mv backup a
hidden a
add a p
(
    trap '' XFSZ
    ulimit -f 0
    umbel sync -q a b
) 2>&1 | sed 's/.*\(File too large\).*/\1/'
show "a b" lost p
umbel sync -q a b && umbel sync -q b c && echo fine
show "a b c" lost p

# A restore that nobody can prove, because the state was lost as well: while all
# three are there, they agree after a few exchanges.
mkdir three && cd three || exit
for d in x y z; do umbel sync -q --init $d --name $d -n 1000; done
cp -a x backup
echo one | umbel add -q x
umbel sync -q x y
rm -r x; mv backup x; rm x/local
printf 'two\nthree\n' | umbel add -q x
umbel sync -q x z
for _ in 1 2 3; do
    umbel sync -q x y 2> /dev/null
    umbel sync -q x z 2> /dev/null
    umbel sync -q y z 2> /dev/null
done
try umbel sync -q x y
try umbel sync -q y z
for d in x y z; do try umbel check $d one two three; done
