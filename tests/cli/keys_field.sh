# The key is a field of the line; check prints the whole line.
printf '%s\t%s\t%s\n' a 1 x b 2 y c 3 z > table
seq 3 > plain
umbel build -q --field 2 table -o f.umb
umbel build -q plain -o plain.umb
try cmp f.umb plain.umb
try umbel check --field 2 f.umb -f table
try umbel check --field 2 --json f.umb -f table
tr '\t' , < table > comma
umbel build -q --field 2 --delimiter , comma -o comma.umb
try cmp comma.umb plain.umb
umbel build -q --field 2 --delimiter '\t' table -o tab.umb
try cmp tab.umb plain.umb

# CR LF ends the line, so it is not part of its last field. An empty field is
# no key, as an empty line is none.
printf 'a\t1\r\nb\t\r\nc\t2\r\nd\t3\r\n' > crlf
umbel build -q --field 2 crlf -o crlf.umb
try cmp crlf.umb plain.umb

printf 'a\t1\nb\n' > short
try umbel build --field 2 short -o no.umb
try umbel build --field 0 table -o no.umb
try umbel build --field two table -o no.umb
try umbel build --field 18446744073709551615 table -o no.umb
try umbel build --field 2 --delimiter ', ' table -o no.umb
try umbel build --field 2 --delimiter '' table -o no.umb

# A delimiter without a field would do nothing.
try umbel build --delimiter , comma -o no.umb
try umbel check plain.umb --delimiter , -f comma
try umbel verify plain.umb --delimiter , --members comma
absent no.umb
printf '9,5\n' > weighed.tsv
umbel retouch plain.umb --delimiter , --members plain --never weighed.tsv \
    --max-fn 0 -q -o r.umb && echo fine

# Both: a field that is hexadecimal.
printf 'a 31\nb 32\nc 33\n' > both
umbel build -q --field 2 --delimiter ' ' --hex both -o both.umb
cmp <(tail -c +65 both.umb) <(tail -c +65 plain.umb) && echo same but for the head
