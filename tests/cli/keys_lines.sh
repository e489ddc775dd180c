# A list is the same list with CR LF, with empty lines, and without its last
# newline.
seq 10 > keys
sed 's/$/\r/' keys > crlf
sed 'G' keys > spaced
printf '%s' "$(cat keys)" > unended
for list in keys crlf spaced unended; do
    umbel build -q $list -o $list.umb
done
try cmp keys.umb crlf.umb
try cmp keys.umb spaced.umb
try cmp keys.umb unended.umb
try umbel check -c keys.umb -f crlf

# Only the one at the end goes: others, and blanks, belong to the key.
printf 'a\r\r\n b \nc\rd\n' > odd
umbel build -q odd -o odd.umb
try umbel check odd.umb $'a\r' | od -An -c
try umbel check odd.umb ' b ' $'c\rd' | od -An -c
try umbel check odd.umb a b c
