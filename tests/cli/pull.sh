# Pull from a directory: names, places, keys that change.
seq 20000 > members
umbel build members -n 25000 --fpr 1% -q -o words.umb
umbel build members -n 30000 --fpr 1% -q -o other.umb
umbel keygen --sign -o key -q
umbel keygen --sign -o new -q
umbel publish site words.umb other.umb --sign key -q
pull() { umbel pull "file://$PWD/site/$1" "${@:2}"; }

# One key signs many lists: none is taken for another.
cp site/words.manifest words.manifest
cp site/other.manifest site/words.manifest
try pull words -o copy.umb --trust key.pub -q
cp words.manifest site/words.manifest
try pull words.manifest -o copy.umb --trust key.pub
try pull other -o copy.umb -q
cmp copy.umb words.umb

# The limits hold also for what is there already.
try pull words -o copy.umb --max-error 0.001% -q
try pull words -o copy.umb --max-bytes 100 -q
pull words -o copy.umb --json

# Another key: the publisher starts over with it, and the reader names it.
umbel publish site words.umb --sign key -q
pull words -o copy.umb -q
rm site/words.manifest
umbel publish site words.umb --sign new -q
new=$(grep -oE '[0-9a-f]{64}' new.pub)
try pull words -o copy.umb -q 2>&1 | sed "s/$new/NEW/"
try pull words -o copy.umb --trust new.pub -q
try pull words -o copy.umb -q
rm site/words.manifest
umbel publish site words.umb -q
try pull words -o copy.umb -q
rm site/words.manifest
umbel publish site words.umb --sign key -q

# Links, rights, other directories; what is no file.
mkdir place
ln -s place/target.umb link.umb
pull words -o link.umb -q
cmp place/target.umb words.umb && test -L link.umb
chmod 640 place/target.umb
umbel build members -n 26000 --fpr 1% -q -o words.umb
umbel publish site words.umb --sign key -q
pull words -o link.umb -q
pull words -o place/target.umb -q
stat -c %a place/target.umb
ls place
mkfifo pipe
try pull words -o pipe -q
try pull words -o place -q
try pull words -o -

# A memory that nobody wrote; a half one; none.
echo nonsense > copy.umb.pull
try pull words -o copy.umb -q
head -c 100 link.umb.pull > copy.umb.pull
try pull words -o copy.umb -q
rm copy.umb.pull
pull words -o copy.umb -q
cmp copy.umb words.umb

# Parts of what was never finished go with the next one.
echo half > copy.umb.part-0123456789abcdef
echo other > copy.umb.part-of-mine
umbel build members -n 24000 --fpr 1% -q -o words.umb
umbel publish site words.umb --sign key -q
pull words -o copy.umb -q
ls copy.umb*

# Nor is what somebody else has a name for, or a link, taken for a part.
digits=$(sed -n 's/^filter \(.\{16\}\).*/\1/p' site/words.manifest)
echo precious > precious
for link in 'ln precious' 'ln -s precious' mkfifo; do
    rm -f copy.umb
    $link "copy.umb.part-$digits"
    pull words -o copy.umb -q
    cmp copy.umb words.umb && cat precious
    ls copy.umb*
done

# Also when what is there is already the published one.
echo half > copy.umb.part-0123456789abcdef
pull words -o copy.umb -q
ls copy.umb*

# Without --trust the first key is trusted, which is said once.
pull words -o first.umb | tail -n 2
pull words -o first.umb | tail -n 2
pull words -o named.umb --trust key.pub | tail -n 2
try umbel pull file://site/words -o first.umb
