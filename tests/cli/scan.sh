# Files below directories, known by the digests in filters.
mkdir -p tree/sub tree/empty
for i in 1 2 3 4 5 6; do echo "$i" > "tree/sub/$i"; done
echo odd > $'tree/new\nline'
: > tree/nothing
ln -s ../tree tree/link
mkfifo tree/pipe
sha1sum tree/sub/[1-4] | cut -c 1-40 > digests
umbel build -q --hex digests -o hex.umb
umbel build --key-form text -q <(tr a-f A-F < digests | head -n 2) -o text.umb
try umbel scan -F hex.umb --hash sha1 tree
try umbel scan -F hex.umb --hash sha1 tree/sub/1 tree/sub/2
try umbel scan -F hex.umb -F text.umb --hash sha1 tree/sub --threads 1
try umbel scan -q -F hex.umb --hash sha1 tree
try umbel scan -q -F hex.umb --hash sha1 tree --unknown-only
umbel scan -F hex.umb --hash sha1 tree --unknown-only --print0 2> log | tr '\0' '|'
echo; cat log
try umbel scan -F hex.umb -F text.umb --hash sha1 --json tree/sub/1 $'tree/new\nline'

# A link is followed if it is named.
ln -s tree/sub linked
ln -s tree/sub/1 file
try umbel scan -F hex.umb --hash sha1 linked file

# Other hashes.
for hash in md5 sha256; do
    "${hash}sum" tree/sub/* | sed 's/ .*//' | umbel build -q --hex -o $hash.umb
    try umbel scan -F $hash.umb --hash $hash tree/sub --unknown-only
done

# What cannot be read is listed and makes the status 2.
try umbel scan -q -F hex.umb --hash sha1 tree/sub/1 missing
try umbel scan -q -F hex.umb --hash sha1 --json missing

# Refusals.
try umbel scan -F hex.umb tree
try umbel scan -F missing.umb tree
umbel build -q --fold-case digests -o folded.umb
try umbel scan -F folded.umb --hash sha1 tree/sub/1
