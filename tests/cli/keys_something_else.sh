# Input that is read as lines though it is something else: files that begin like
# another format are refused, and lists whose first keys look wrong get a
# warning, also with --quiet, from files and from pipes.
seq 100 > list
umbel build list -q -o f.umb
cat > write.py << 'END'
import bz2, zipfile
text = open("list", "rb").read()
open("list.bz2", "wb").write(bz2.compress(text, 1))
with zipfile.ZipFile("list.zip", "w") as z:
    z.write("list")
open("list.db", "wb").write(b"SQLite format 3\0\x10\0\x01\x01\0@  " + bytes(4000))
for name in "utf-16", "utf-16-le", "utf-16-be":
    open(name, "wb").write(text.decode().encode(name))
END
python3 write.py
for file in list.bz2 list.zip list.db; do
    try umbel build $file -q -o no.umb
    cat $file | try umbel build -q -o no.umb
    try umbel check f.umb -f $file
    try umbel check $file 7
done
absent no.umb
# Words that only begin alike are keys.
printf 'BZh9\nBZhou\nPK\nSQLite format 4\n' | try umbel build -q -o g.umb

for file in utf-16 utf-16-le utf-16-be; do
    try umbel build $file -q -o g.umb
done
cat utf-16 | try umbel check f.umb -c -0

# Fields in quotation marks.
sed 's/.*/"&"/' list > quoted
sed 's/.*/"&","a, b",7/' list > table.csv
sed 's/.*/7,"&"/' list > second.csv
try umbel build quoted -q -o g.umb
try umbel build table.csv -q -o g.umb
try umbel build second.csv --field 2 --delimiter , -q -o g.umb
try umbel check f.umb -c -f quoted
printf '"one"\ntwo\nthree\n' | try umbel build -q -o g.umb

# A digest, and something after it.
while read -r i; do printf '%040X:%d\n' "$i" $((i % 7)); done < list > counts
tr ':' '\t' < counts > tabbed
sha1sum list quoted > sums
for file in counts tabbed sums; do
    try umbel build $file -q -o g.umb
done
try umbel build counts --field 1 --delimiter : --hex -q -o g.umb
try umbel check g.umb 0000000000000000000000000000000000000007
printf 'fe80::1\nab:1\n' | try umbel build -q -o g.umb

# Each list gets its warning.
try umbel build quoted table.csv --never counts -q -o g.umb
