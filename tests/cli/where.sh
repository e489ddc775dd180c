# Which of many filters contain a key: an index, its updates, words of files.
for i in 1 2 3 4 5; do
    seq $((i * 100)) $((i * 100 + 149)) | umbel build -q -o "l$i.umb"
done
try umbel where --index ix --add l1.umb l2.umb l3.umb l4.umb
try umbel where --index ix 210
try umbel where --index ix 210 --json
try umbel where --index ix 210 310
try umbel where --index ix 210 310 --any
try umbel where --index ix 130 210 310 --share 60%
try umbel where --index ix 210 310 --print0 | tr '\0' '|'
echo
try umbel where --index ix nothing
try umbel where --index ix --quiet 210

# The same answers as those of the filters.
for key in $(seq 90 7 600); do
    for i in 1 2 3 4; do
        umbel check -q "l$i.umb" "$key" && echo "l$i.umb"
    done > one
    umbel where --index ix "$key" > other
    cmp one other
done

# Updates: a changed filter is replaced, others are left as they are.
seq 1000 1100 | umbel build -q -o l2.umb
try umbel where --index ix --add l1.umb l2.umb l5.umb
try umbel where --index ix 1050
try umbel where --index ix --remove l1.umb --remove l3.umb --json
try umbel where --index ix 310
try umbel where --index ix --remove l3.umb
try umbel where --index ix 210

# A directory of sync has a filter for each origin.
umbel sync --init a --name a -n 100 -q; umbel sync --init b --name b -n 100 -q
echo alpha | umbel add -q a; echo beta | umbel add -q b
umbel sync a b -q
umbel where --index peers --add a --json | field added
umbel where --index peers alpha | wc -l
umbel where --index peers --add a --json | field unchanged

# Domains: parents are asked, too; a key that no filter can contain is refused.
echo example.org | umbel build -q --key-form domain -o d.umb
umbel where --index dx --add d.umb -q
try umbel where --index dx mail.Example.org
try umbel where --index dx 'not a domain'

# Words of files, also of compressed ones.
echo 'GET /index.html from 10.0.0.17, ok' > log1
echo 'get /Index from 10.0.0.1: Übergrößenträger' | gzip > log2.gz
echo 'PUT 17.10.0.0.1 12:30:59 user-agent' | bzip2 > log3.bz2
try umbel where --index words --add --tokens log1 log2.gz log3.bz2
for text in 10.0.0.1 10.0.0.17 0.0.1 index.html Index 30:59 größen Übergrößenträger 'ok' 12:30 'from 10.0.0.1'; do
    try umbel where --index words "$text"
done
umbel where --index folded --add --tokens --fold-case -q log1 log2.gz
try umbel where --index folded INDEX
try umbel where --index words ' - '
try umbel where --index words --add l1.umb
try umbel where --index ix --add --tokens log1

# Refusals.
try umbel where --index missing 1
try umbel where --index missing --remove l1.umb
try umbel where --index ix
try umbel where --index ix --add
try umbel where --index ix 1 --tokens
try umbel where --index ix --add l1.umb --any
umbel build -q --kind ribbon log1 -o r.umb
try umbel where --index ix --add r.umb
try umbel where --index ix --add l1.umb missing.umb
try umbel where --index ix --add l1.umb l1.umb
printf 'umbindex\002' > ix/index
try umbel where --index ix 210
