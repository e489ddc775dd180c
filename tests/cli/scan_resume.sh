# A scan goes on where it was interrupted, and hashes only what changed.
mkdir tree
for i in 1 2 3 4; do echo "$i" > "tree/$i"; done
sha1sum tree/[12] | cut -c 1-40 | umbel build -q --hex -o f.umb
try umbel scan -F f.umb --hash sha1 tree --resume record

# Cut inside the last entry, as by an interrupt.
cp record whole
head -c -9 whole > record
try umbel scan -F f.umb --hash sha1 tree --resume record
try cmp record whole

# New, changed and removed files.
echo 1 > tree/5
echo 1 > tree/4
rm tree/1
try umbel scan -F f.umb --hash sha1 tree --resume record
try umbel scan -F f.umb --hash sha1 tree --resume record --unknown-only

# A changed file with the old size and modification time is noticed.
touch -r tree/3 time
echo 2 > tree/3
touch -r time tree/3
try umbel scan -F f.umb --hash sha1 tree/3 --resume record

# Other files, and records of another hash, stay as they are.
echo "my list" > list
try umbel scan -F f.umb --hash sha1 tree --resume list
try cat list
try umbel scan -F f.umb --hash md5 tree --resume record
try umbel scan -F f.umb --hash sha1 tree --resume tree
