# Lists in common formats give the same filter as their keys, one per line, by
# every command that reads keys; what is left out is reported, also with -q.
lists=$PWD
seq 100 | sed 's/.*/host&.example/' > names
umbel build names -q -o plain.umb
same() { # FILE OPTIONS
    umbel build "$@" -q -o other.umb && cmp plain.umb other.umb && echo "same: $*"
}
(printf '# hosts\r\n127.0.0.1 localhost\r\n'; sed 's/.*/0.0.0.0 & # x/;s/$/\r/' names) > hosts
paste -d ' ' - - < names | sed 's/^/:: /' > pairs
(echo '[Adblock Plus 2.0]'; echo '! x'; sed 's/.*/||&^/' names) > rules
(echo '# x'; sed 's/.*/*.& # y/' names) > domains
(printf '\xEF\xBB\xBFid,"the ""name""",note\r\n'; sed 's/.*/7,"&","a\n""b"", c"/;s/$/\r/' names) > table.csv
sed 's/,/;/g' table.csv > german.csv
sed 's/.*/{"id": 7, "name": "\\u0068&", "x": {"name": "no"}}/;s/\\u0068h/\\u0068/' names > lines.json
same hosts --list-format hosts
same pairs --list-format hosts
same rules --list-format adblock
same domains --list-format domains
same names --list-format lines
same table.csv --csv --column 'the "name"'
tail -n +2 table.csv > body.csv
same body.csv --csv --column 2
same german.csv --csv --column 'the "name"' --delimiter ';'
same lines.json --json-field name
for file in names table.csv; do
    gzip -k $file
    bzip2 -k $file
    zstd -q $file
done
for suffix in gz bz2 zst; do
    same names.$suffix
    same table.csv.$suffix --csv --column 'the "name"'
    cat names.$suffix | umbel check plain.umb -c
done

# Every command that reads lists takes these options.
umbel build names -n 200 -q -o f.umb
try umbel add f.umb hosts --list-format hosts --json | field new
try umbel check f.umb -c -f lines.json --json-field name
try umbel check f.umb -f table.csv --csv --column id
try umbel verify f.umb --members rules --list-format adblock --json | field false_negatives
sed 's/host/guest/' body.csv > never.csv
try umbel retouch f.umb --members body.csv --never never.csv --csv --column 2 -q --dry-run
try umbel plan --members body.csv --never never.csv --csv --column 2 --json | field never
try umbel publish site f.umb --members body.csv --never never.csv --csv --column 2 -q
try umbel build body.csv --csv --column 2 --amount-field 1 --kind counting -q -o c.umb
umbel check c.umb --values host7.example

# Hashes of Have I Been Pwned, in one file or in range files.
for i in 1 2 3; do printf '%s\n' password$i | sha1sum | cut -c1-40 | tr a-f A-F; done | sort > hashes
umbel build hashes --key-form sha1 --hex -q -o hex.umb
sed 's/$/:3\r/' hashes > counted
try umbel build counted --list-format hibp -q -o hibp.umb
cmp hex.umb hibp.umb
mkdir ranges
while read -r hash; do
    printf '%s:3\r\n%s:0' "${hash:5}" 00000000000000000000000000000000000 > "ranges/${hash:0:5}.txt"
done < hashes
try umbel build ranges --list-format hibp -q -o hibp.umb
cmp hex.umb hibp.umb
tar -cf ranges.tar ranges
zstd -q ranges.tar
first=$(head -c 5 hashes)
cp "ranges/$first.txt" "ranges/$first"
gzip "ranges/$first"
echo > ranges/README
for file in ranges.tar ranges.tar.zst ranges "ranges/$first.txt"; do
    try umbel build "$file" --list-format hibp -q -o hibp.umb
done
try umbel check hex.umb -c -f ranges.tar --list-format hibp

# The password itself can be asked; a list of NTLM hashes has its own form.
printf hunter2 | sha1sum | cut -c1-40 | umbel build --list-format hibp -n 9 -q -o hibp.umb
try umbel check hibp.umb hunter2 hunter3
echo 0123456789abcdef0123456789abcdef:3 > ntlm
try umbel build ntlm --list-format hibp -q -o no.umb
try umbel build ntlm --list-format hibp --key-form ntlm -q -o ntlm.umb

# Bad lists: the line is named, and no file is written.
printf '1,"a\nb' > open.csv
printf 'a,b\n1,x"y\n' > stray.csv
printf '{"name": "a"}\n{"nam": "b"}\n' > short.json
printf '0.0.0.0 a\nb\n' > short.hosts
mkdir wrong
printf 'x:1\n' > wrong/ABCDE
for words in 'open.csv --csv --column 2' 'stray.csv --csv --column 1' 'table.csv --csv --column nmae' \
    'short.json --json-field name' 'short.hosts --list-format hosts' 'wrong --list-format hibp' \
    'names --list-format hibp' "$lists --list-format hosts" 'fix --list-format hibp' \
    'names --list-format nmaes' 'names --csv' 'names --column 1' 'names --csv --column 0' \
    'names --csv --column 1 --field 1' 'counted --list-format hibp --fold-case' \
    'names --json-field a -0' 'names --list-format hosts --csv --column 1'; do
    # shellcheck disable=SC2086 # several words
    umbel build $words -o no.umb 2>&1 | sed "s|$lists|DIR|;1q"
done
umbel build hosts --list-format hosts --amount-field 2 --kind counting -o no.umb 2>&1
absent no.umb

# A small file that expands to gigabytes is refused soon.
head -c 300000000 /dev/zero | tr '\0' '\n' | zstd -q > bomb.zst
try umbel build bomb.zst -o no.umb
