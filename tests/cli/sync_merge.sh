# One file of all filters in a directory of umbel sync.
for d in hub a; do
    umbel sync -q --init $d --name $d -n 1000
    echo $d | umbel add -q $d
done
umbel sync -q hub a
umbel merge hub -o all.umb | grep -v '^payload'
umbel check all.umb hub a x
umbel publish -q out hub && umbel pull -q "file://$PWD/out/hub" -o pulled.umb && cmp pulled.umb all.umb
for d in m n; do
    umbel sync -q --init $d --name $d -n 1000 --kind counting
    echo key | umbel add -q $d
done
umbel sync -q m n
umbel merge -q m -o counts.umb && umbel check --values counts.umb key

echo "--- refused"
umbel sync -q --init t --name t -n 1000 --kind table
echo key | umbel add -q t
umbel merge t -o t.umb
mkdir none
umbel merge none -o x.umb

echo "--- limits of memory, and signatures"
umbel sync -q --init big --name big -n 100000
echo key | umbel add -q big # a file with little content is compressed
names() {
    sed 's/copy-[0-9a-f-]*/copy-ORIGIN/'
}
umbel merge -q big -o x.umb --max-memory 1000 2>&1 | names
umbel publish -q out big --max-memory 1000 2>&1 | names
umbel info big --max-memory 1000 2>&1 | names
echo more | umbel add -q big --max-memory 1000 2>&1 | names
umbel check big key --max-memory 1000 2>&1 | names
umbel merge -q big -o x.umb --max-memory 1M && umbel check x.umb key
umbel merge -q big -o x.umb --no-checksum
umbel info big --no-checksum
echo more | umbel add -q big --no-checksum

echo "--- more keys than fit"
umbel sync -q --init small --name small -n 100
seq 90 | umbel add -q small
seq 1000 | umbel add -q small
echo "exit $?"
seq 1000 | umbel check -c small -f -
