# What --help gives as an example works, where its files are.
seq 1000 > words
seq 1001 1100 > ./more
seq 5000 5100 > wrong
seq 500 5200 > lines
umbel build words -n 1200 -q -o words.umb
umbel build more -n 1200 -q -o other.umb
umbel build wrong -n 1200 -q -o new.umb
umbel keygen --sign -q -o key
umbel where --index peers.idx --add words.umb -q
cp words list; sed 's/$/,x/' words > access.csv; cp more blocked
mkdir docs; echo 1 > docs/a
sha1sum docs/a | cut -c 1-40 | umbel build --key-form sha1 --hex -q -o known.umb
for command in plan build add check scan where info verify admit lint retouch merge convert \
    diff patch publish pull keygen reproduce bench; do
    example=$(umbel $command --help | sed -n 's/^example: //p')
    echo "$example"
    umbel build words -n 1200 -q -o words.umb
    eval "$example" > /dev/null || echo "[$?]"
done
