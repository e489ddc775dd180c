# Publish, pull from a directory, and false positives that readers report.
seq 20000 > members
umbel build members --fpr 1% -q -o list.umb
umbel keygen --sign -o key -q
try umbel publish site list.umb --sign key --keep 4
here=file://$PWD/site
umbel pull "$here/list" -o copy.umb --trust key.pub | sed 's/^transferred .*/transferred N/'
cmp list.umb copy.umb

# A reader finds false positives, and reports them.
seq 30001 32000 | try umbel check copy.umb --confirm false.txt -c
seq 30001 30100 | umbel check copy.umb --confirm false.txt -q
sort -u false.txt | wc -l
try umbel publish site list.umb --sign key --members members --never false.txt |
    sed 's/^update  .*/update N/'
umbel pull "$here/list" -o copy.umb -q
try umbel check copy.umb -f false.txt
try umbel verify copy.umb --members members
# The command that the report prints builds it so that no member is lost.
cp list.umb before.umb
umbel publish site list.umb --sign key --members members --never false.txt |
    sed -n 's/^To lose no member.*: //p' > again.sh
grep -c 'umbel build' again.sh
bash again.sh
try umbel publish site list.umb --sign key
umbel pull "$here/list" -o copy.umb -q
try umbel check copy.umb -f false.txt
try umbel verify copy.umb --members members -q
mv before.umb list.umb

# Lists of several readers: some empty, some twice, one with members in it.
: > empty.txt
{ head -n 3 false.txt; echo 5; echo 7; head -n 2 false.txt; } > wrong.txt
try umbel publish site list.umb --sign key --members members --never empty.txt
try umbel publish site list.umb --sign key --members members --never empty.txt \
    --never wrong.txt --never wrong.txt | sed 's/^update  .*/update N/'
umbel pull "$here/list" -o copy.umb -q
try umbel check copy.umb 5 7
try umbel check copy.umb -f wrong.txt -c
umbel publish site list.umb --sign key --members members --never wrong.txt --json 2>&1 |
    sed 's/.*"signed": true, //'
# As far as 1 % of the members pay for.
seq 40001 80000 | umbel check list.umb --confirm many.txt -q
try umbel publish site list.umb --sign key --members members --never many.txt |
    sed 's/^update  .*/update N/'
try umbel publish site list.umb --sign key --members wrong.txt --never false.txt
umbel build members --kind counting -q -o counts.umb
try umbel publish site counts.umb --sign key --members members --never false.txt
# A keyed filter, with its secret.
fixed_secret secret 1
umbel build members --fpr 1% --hash sip --key-file secret -q -o keyed.umb
seq 30001 32000 | umbel check keyed.umb --key-file secret --confirm kept.txt -q
umbel publish site keyed.umb --sign key --members members --never kept.txt 2>&1 |
    sed 's/key [0-9a-f]\{16\}/key ID/'
umbel publish site keyed.umb --sign key --key-file secret --members members --never kept.txt -q
umbel pull "$here/keyed" -o keyed.copy -q
try umbel check keyed.copy --key-file secret -f kept.txt -c

# A filter with groups is built again, like the last edition: nobody is lost,
# and readers fetch about what they fetch of a plain filter.
seq 20101 > tomorrow
sed -i 1,101d tomorrow
for list in members tomorrow; do
    umbel build $list --fpr 1% -n 20000 -q -o plain.umb
    umbel publish grouped plain.umb --json |
        sed 's/.*"difference_bytes": \([0-9]*\).*/\1/' > plain.bytes
    umbel build $list --fpr 1% -n 20000 --groups 2 -q -o grouped.umb
    try umbel publish grouped grouped.umb --members $list --never false.txt |
        sed -n '/^reported\|^still\|^members/p'
done
umbel publish grouped grouped.umb --members members --never false.txt --json |
    sed 's/.*"difference_bytes": \([0-9]*\).*/\1/' > grouped.bytes
[ $((2 * $(cat grouped.bytes))) -le $((5 * $(cat plain.bytes))) ] && echo small
umbel pull "file://$PWD/grouped/grouped" -o grouped.copy -q
umbel verify grouped.copy --members members -q && umbel check grouped.copy -f false.txt -c

# Several at once: the filters until now stay for readers that are on their way.
umbel build members --fpr 1% -n 20100 -q -o second.umb
umbel publish two list.umb second.umb -q
umbel build members --fpr 1% -n 20500 -q -o list.umb
umbel build members --fpr 1% -n 20600 -q -o second.umb
umbel publish two list.umb second.umb -q
ls two | sed 's/.*\.//' | sort | uniq -c
# What was damaged in the publish directory is mended by the next one.
for piece in two/*.umb; do echo damaged > "$piece"; done
umbel publish two list.umb -q
umbel pull "file://$PWD/two/list" -o mended.umb -q
cmp list.umb mended.umb
# Without the last filter there is no difference from it.
rm two/*.umb
umbel build members --fpr 1% -n 20400 -q -o list.umb
umbel publish two list.umb | sed 's/[0-9a-f]\{64\}/DIGEST/'
# A manifest that nobody can read may name anything.
echo mine > two/my.manifest
try umbel publish two list.umb
ls two | sed 's/.*\.//' | sort | uniq -c
rm two/my.manifest
# Other tools name files by other digests: only what is named by its own goes.
other=$(sha256sum < list.umb | cut -d' ' -f1).umb
cp list.umb "two/$other"
mkfifo "two/$(echo | sha256sum | cut -d' ' -f1).umd"
# Nor a link, whose end may never come.
ln -s /dev/zero "two/$(echo zero | sha256sum | cut -d' ' -f1).umb"
own=$(b2sum -l 256 < members | cut -d' ' -f1).umb
cp members "two/$own"
umbel publish two list.umb -q
ls "two/$other" | wc -l
absent "two/$own"
# A filter is a file.
mkfifo pipe.umb
try umbel publish two pipe.umb

# Refusals.
mkdir elsewhere
cp list.umb elsewhere
try umbel publish two list.umb elsewhere/list.umb
cp two/list.manifest two/copied.manifest
cp list.umb copied.umb
try umbel publish two copied.umb
cp list.umb list.manifest.umb
try umbel publish two list.manifest.umb
mkdir loop # a manifest that cannot be looked at is not one that is not there
ln -s list.manifest loop/list.manifest
try umbel publish loop list.umb
ls loop
umbel publish site list.umb --sign key --members members --never empty.txt -q
try umbel publish site list.umb
try umbel publish site list.umb --sign key.pub
try umbel publish site list.umb --sign secret
tr 0123456789abcdef 123456789abcdef0 < key | sed 's/^[^ ]*/umbel-sign-1/' > wrong
chmod 600 wrong
try umbel publish damaged list.umb --sign wrong
absent damaged
try umbel pull "file:///nowhere" -o copy.umb --trust key
try umbel build members --hash sip --key-file key.pub -o no.umb
try umbel publish site members
try umbel publish site list.umb --sign key --valid 0
try umbel publish site list.umb --sign key --keep 65
try umbel publish site list.umb --sign key --never false.txt
try umbel publish site
cp list.umb 'a name.umb'
try umbel publish site 'a name.umb' --sign key
umbel pull site/list -o copy.umb 2>&1 | sed "s:$PWD::"
umbel pull "$here/none" -o none.umb 2>&1 | sed "s:$PWD::"
umbel pull "$here/list" -o copy.umb --trust nobody
try umbel keygen --sign -o key
absent none.umb

# The report says what makes updates larger than before.
seq 100 | umbel build -n 100 -q -o day.umb
try umbel publish days day.umb --valid 3 | sed 's%^expires .*UTC%expires WHEN%'
seq 101 | umbel build -n 200 -q -o day.umb
try umbel publish days day.umb
seq 1000 1199 | umbel build -n 200 -q -o day.umb
try umbel publish days day.umb
try umbel publish days day.umb --valid 3 --json | grep -o '"expires": [1-9]' | cut -c 1-10

# Publishers and readers limit the memory that a filter may take.
days() { umbel pull "file://$PWD/days/coded" "$@"; }
umbel build members --bits 1000000 --hashes 1 --coded -q -o coded.umb
try umbel publish days coded.umb --max-memory 100k
umbel publish days coded.umb -q
try days -o coded.copy --max-memory 100k -q
days -o coded.copy --max-memory 126k -q
cmp coded.umb coded.copy
seq 20001 20100 | umbel add coded.umb -q
umbel publish days coded.umb -q
try days -o coded.copy --max-memory 100k -q
days -o coded.copy --max-memory 126k --json | field how
try umbel admit coded.copy --max-memory 100k
try umbel admit coded.copy --max-bytes 100k -q

# Keys and notes are kept in files.
try umbel keygen -o -
try umbel keygen --sign -o -
try umbel check day.umb 1000 --confirm -
absent -
