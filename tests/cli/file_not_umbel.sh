# Files that are no filters, for each command that takes one.
mkdir dir
: > empty
echo hello > text
printf '\x89UMB\r\n\x1a' > start
printf '\x89UMB\n\x1a\n0123456789' > translated
seq 10 > keys
for file in missing dir empty text start translated /dev/null; do
    try umbel info $file
done
for file in missing dir empty text; do
    try umbel check $file 1
    try umbel verify $file --members keys
    try umbel merge $file -o no.umb
    try umbel convert $file --fold 2 -o no.umb
    try umbel add $file keys
done
refused umbel info - < text
refused umbel info - < /dev/null
ls
cat text
