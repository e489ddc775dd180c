# A secret is born private and never replaced.
umask 000
try umbel keygen -o my.key 2>&1 | sed 's/[0-9a-f]\{16\}/ID/g'
stat -c %a my.key
sed 's/[0-9a-f]\{32\}/SECRET/' my.key
cp my.key copy
try umbel keygen -o my.key
try cmp my.key copy
umbel keygen --json -o other.key | sed 's/[0-9a-f]\{16\}/ID/g'
cmp -s my.key other.key || echo two keys differ
try umbel keygen -q -o quiet.key

try umbel keygen
try umbel keygen -o no.key extra
try umbel keygen -o missing/my.key
refused umbel keygen -o /dev/full
ln -s nowhere link
refused umbel keygen -o link
ls
