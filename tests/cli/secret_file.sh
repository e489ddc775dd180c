# A key file that others can read, and files that are none.
seq 100 > keys
umbel keygen -q -o my.key
with() { try umbel build -q keys --hash sip -o f.umb --key-file "$1"; }
for mode in 644 640 604 620 601 660; do
    chmod $mode my.key
    with my.key
done
chmod 600 my.key
with my.key
chmod 400 my.key
with my.key
chmod 600 my.key

umask 077
with missing
mkdir dir
with dir
: > empty
with empty
echo hello > text
with text
sed 's/ ./ z/' my.key > letter
sed 's/.$//' my.key > short
sed 's/$/0/' my.key > long
sed 's/$/\r/' my.key > crlf
cat my.key my.key > twice
sed 's/-1 /-2 /' my.key > newer
for file in letter short long crlf twice newer; do
    with $file
done

# Not even the message shows a secret.
secret=$(sed 's/.* //' my.key)
for file in letter short long crlf twice newer; do
    with $file
done 2>&1 | grep -c "${secret:4:20}"
