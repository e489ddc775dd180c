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
