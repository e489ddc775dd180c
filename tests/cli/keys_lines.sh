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

# A byte order mark is no part of the first key; of records it is.
printf '\xef\xbb\xbfapple\r\n\xef\xbb\xbfpear\r\n' > marked
umbel build -q marked -o marked.umb
umbel check marked.umb apple
umbel check marked.umb -f marked | od -An -tx1 | head -n 1
umbel check -c marked.umb pear
umbel build -q -0 marked -o records.umb
umbel check -c -0 records.umb -f marked

# Only the one at the end goes: others, and blanks, belong to the key.
printf 'a\r\r\n b \nc\rd\n' > odd
umbel build -q odd -o odd.umb
try umbel check odd.umb $'a\r' | od -An -c
try umbel check odd.umb ' b ' $'c\rd' | od -An -c
try umbel check odd.umb a b c
