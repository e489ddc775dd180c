# A refusal says what to do: the word that helps must be in it.
seq 10 > keys
seq 11 20 > others
umbel keygen -q -o my.key
umbel build -q keys -o plain.umb
umbel build -q keys --hash sip --key-file my.key -o keyed.umb
hint() {
    local word=$1
    shift
    try "$@" 2> err
    grep -q -e "$word" err || echo "no word of $word: $(cat err)"
}
hint --key-file umbel build -q keys --hash sip -o f.umb
hint --key-file umbel check keyed.umb 1
hint --key-file umbel add keyed.umb keys
hint --key-file umbel verify keyed.umb --members keys
hint sip umbel build -q keys --key-file my.key -o f.umb
hint bloom umbel build -q keys --kind cuckoo -o f.umb
hint classic umbel build -q keys --addressing modulo -o f.umb
hint xxh128 umbel build -q keys --hash md4 -o f.umb
hint '128\| 4' umbel build -q keys --addressing chunks-md5 --hashes 5 -o f.umb
hint --max-memory umbel build -q --max-memory 0 -o f.umb < keys
hint --capacity umbel build -q /dev/null -o f.umb
hint capacity umbel build -q --kind tally -o f.umb < <(cat keys)
hint 'give --max-memory' \
    umbel build -q --kind ribbon --max-memory 1024 -o f.umb < <(seq 1000)
hint --help umbel wrong
hint 'umbel help methods' umbel retouch plain.umb --members keys --never others --method best --dry-run
chmod 600 keys
hint 'umbel keygen' umbel check keyed.umb --key-file keys 1
hint 'my.key exists.*another file' umbel keygen -q -o my.key
hint 'can are counting' umbel add plain.umb keys --remove
umbel build -q keys --kind tally -o tally.umb
hint '^umbel merge: tally.umb: kind tally' umbel merge tally.umb plain.umb -o f.umb
umbel build -q keys --groups 2 -o groups.umb
hint 'differ in groups: 1 and 2' umbel merge plain.umb groups.umb -o f.umb
hint 'from its keys with --fpr 1e-08' umbel convert plain.umb --fpr 1e-8 -o f.umb
umbel build -q keys --bits 512 --hashes 4 -o block.umb
umbel convert block.umb --fpr 5% -o f.umb | grep -o 'compress it with --coded.*'
umbel build -q keys --never others -o old.umb
seq 1000 2000 > thousand
umbel build thousand --never others --like old.umb -o f.umb 2>&1 | grep -o 'without --like.*'
hint 'mean --members keys' umbel verify plain.umb keys
hint 'mean -n 1000' umbel plan 1000
hint 'mean --keys' umbel check plain.umb --file keys

# Advice that would change nothing is not given.
printf 'a\nb\n' > two
umbel build two -o f.umb | grep -c Only

# Repeated lines: only where another capacity gives a smaller file.
seq 50 > fifty
for options in 'two two' 'fifty fifty' 'fifty fifty --bits 4096' 'fifty fifty --kind scalable'; do
    # shellcheck disable=SC2086 # several words
    umbel build $options -o repeated.umb | grep -e different -e '^bytes'
done
umbel build fifty -n 50 -o repeated.umb | grep '^bytes'

# What to type next says again that a list has digests: the file does not record that.
printf '%040d\n' 1 2 > digests
umbel build digests --key-form sha1 --hex -o digests.umb | grep next
