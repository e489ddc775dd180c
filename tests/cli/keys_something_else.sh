# Input that is read as lines though it is something else: files that begin like
# another format are refused, and lists whose first keys look wrong get a
# warning, also with --quiet, from files and from pipes.
seq 100 > list
umbel build list -q -o f.umb
cat > write.py << 'END'
import lzma, zipfile
text = open("list", "rb").read()
open("list.xz", "wb").write(lzma.compress(text))
open("list.parquet", "wb").write(b"PAR1\x15\4\x15" + bytes(100) + b"PAR1")
with zipfile.ZipFile("list.zip", "w") as z:
    z.write("list")
open("list.db", "wb").write(b"SQLite format 3\0\x10\0\x01\x01\0@  " + bytes(4000))
for name in "utf-16", "utf-16-le", "utf-16-be":
    open(name, "wb").write(text.decode().encode(name))
END
python3 write.py
for file in list.xz list.zip list.db list.parquet utf-16; do
    try umbel build $file -q -o no.umb
    cat $file | try umbel build -q -o no.umb
    try umbel check f.umb -f $file
    try umbel check $file 7
done
absent no.umb
# Words that only begin alike are keys.
printf 'PAR1\nBZh9\nBZhou\nPK\nSQLite format 4\n' | try umbel build -q -o g.umb

for file in utf-16-le utf-16-be; do
    try umbel build $file -q -o g.umb
done
tar -cf list.tar list
try umbel build list.tar -q -o no.umb
gzip -c list.db > list.db.gz
try umbel build list.db.gz -q -o no.umb
gzip -c list | gzip > list.gz.gz
try umbel build list.gz.gz -q -o no.umb
absent no.umb

# Fields in quotation marks.
sed 's/.*/"&"/' list > quoted
sed 's/.*/"&","a, b",7/' list > table.csv
sed 's/.*/7,"&"/' list > second.csv
try umbel build quoted -q -o g.umb
try umbel build table.csv -q -o g.umb
try umbel build second.csv -q -o g.umb
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
# A header or comments before them make no difference.
(echo '# downloaded today'; echo hash:count; cat counts) > headed
try umbel build headed -q -o g.umb
(echo 'id,name'; cat second.csv) | try umbel build -q -o g.umb
printf 'fe80::1\nab:1\n' | try umbel build -q -o g.umb

# Other formats that can be read.
sed 's/.*/{"id": &, "name": "n"}/' list > lines.json
sed 's/.*/0.0.0.0 host&.example/' list > hosts
sed 's/.*/||host&.example^/' list > rules
(echo '# a list'; sed 's/.*/host&.example/' list) > domains
for file in lines.json hosts rules domains; do
    try umbel build $file -q -o g.umb
done
# Keys that look like none of these.
printf '192.0.2.1\n192.0.2.2\n' | try umbel build -q -o g.umb
printf 'host.example\nother.example\n' | try umbel build -q -o g.umb
printf '#include <x>\nint main\n#endif\n' | try umbel build -q -o g.umb

# Each list gets its warning.
try umbel build quoted table.csv --never counts -q -o g.umb
