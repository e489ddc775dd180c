# Every option changes something: with it a command prints, writes or returns
# something else than without. test_cli options holds what is accepted; this
# finds options that are accepted and ignored.
mkdir fix
cd fix || exit
seq 300 > list
seq 1000 1400 > never
seq 301 340 > later
seq 997 > many
seq 1 2 400 > odd
sed 's/.*/&\t&/' never > weighed
cp weighed heavy.tsv
awk '{print $1 "\t" 1 + $1 % 3}' list > amounts
sed 's/\t/,/' amounts > commas
tr '\n' '\0' < list > nulls
sed 's/.*/"&",x/' list > table.csv
for name in list never; do
    sed 's/.*/{"k": "&", "l": 7}/' $name > $name.json
    sed 's/.*/0.0.0.0 &/' $name > $name.hosts
done
printf '%04x\n' $(seq 300) > hex
(cat odd; sed 's/.*/\U&/' hex) > mixed
fixed_secret secret 1
fixed_secret other 2
printf 'umbel-sign-1 %0128x\n' 7 > sign
printf data > data
small='--bits 2000 --hashes 4'
umbel build list $small -q -o f.umb
umbel build later $small -q -o g.umb
umbel build never $small -q -o n.umb
umbel build list --kind counting --cells 2000 --hashes 4 -q -o c.umb
umbel build list --bits 2e5 --hashes 2 --coded -q -o z.umb
umbel build list --hash sip --key-file secret $small -q -o s.umb
umbel build later --hash sip --key-file secret $small -q -o t.umb
umbel build later --hash sip --key-file other $small -q -o u.umb
umbel build hex --hex $small -q -o h.umb
sha1sum list | cut -c 1-40 | umbel build --hex $small -q -o digests.umb
umbel build list --addressing dcso $small -q -o d.umb
umbel convert d.umb --to dcso -q -o d.bloom
umbel build list --addressing guava $small -q -o e.umb
umbel diff f.umb g.umb -q -o fg.umd
umbel diff s.umb t.umb -q -o s.umd
umbel where --index ix --add f.umb g.umb -q
umbel where --index secret.ix --add s.umb t.umb -q
printf 'alpha Beta %s\n' $(seq 30) > words
umbel where --index words.ix --add --tokens list words -q
(head -c -1 f.umb; printf '\377') > damaged.umb
umbel diff damaged.umb g.umb --no-checksum -q -o damaged.umd
umbel build later --bits 2e5 --hashes 2 -q -o y.umb
umbel diff z.umb y.umb -q -o z.umd
umbel build list --kind aging -n 400 -q -o a.umb
umbel sync --init w --name w -n 100 -q
umbel publish site f.umb -q
umbel build list -n 150 -q -o high.umb 2> /dev/null
umbel build many -n 100 -q -o full.umb 2> /dev/null
for i in 1 2 3; do
    (cat list; seq 900 90$i) | umbel build -n 5000 -q -o edition.umb
    [ $i = 3 ] || umbel publish kept edition.umb -q
done
cd ..

# What a run leaves: its output, exit code and files. Keys, dates and seconds
# are others each time: sizes do.
run() { # COMMAND WORDS
    rm -rf run && cp -rp fix run
    (
        cd run || exit
        eval "umbel $1 $2" < /dev/null 2>&1 | tr '\0' '@' | grep -a -v -e '^seconds' -e '^expires' -e '^issued' -e '^origin'
        echo "[${PIPESTATUS[0]}]"
        case $1 in
        keygen | publish | pull) find . -type f -printf '%p %s\n' | sort ;;
        sync)
            find . -type f -printf '%p %s\n' | sort
            find . -name shape.umb -exec cksum {} + | sort
            ;;
        *) find . -maxdepth 1 -type f -exec cksum {} + | sort ;;
        esac
    )
}

declare -A base known
# used COMMAND OPTION WORDS MORE: MORE is appended to the words, or follows
# "instead" where other words take their place.
used() {
    local words="$3 $4" with
    known[$1 --$2]=yes
    [ "$4" != instead ] || words=$5
    [ -n "${base[$1 $3]-}" ] || base[$1 $3]=$(run "$1" "$3")
    with=$(run "$1" "$words")
    if [ "${base[$1 $3]}" = "$with" ]; then
        echo "ignored: umbel $1 --$2: '$3' does the same as '$words'"
        [[ $with != *'[2]'* ]] || head -n 1 <<< "$with"
    elif [[ ${base[$1 $3]} == *'[2]'* && $with == *'[2]'* ]]; then
        echo "umbel $1 --$2: '$3' is refused without and with '$words'"
    fi
}

# Options of groups that many commands have.
keys() { # COMMAND, words before and behind a list
    used $1 null "$2 nulls ${3-}" -0
    local digits=hex
    [ "$1" != publish ] || digits=list # its members are those of the filter
    used $1 hex "$2 $digits ${3-}" --hex
    used $1 fold-case "$2 $digits ${3-}" --fold-case
    used $1 field "$2 amounts ${3-}" '--field 1'
    used $1 csv "$2 table.csv ${3-}" '--csv --column 1'
    used $1 column "$2 table.csv ${3-} --csv --column 2" instead "$2 table.csv ${3-} --csv --column 1"
    used $1 json-field "$2 list.json ${3-}" instead \
        "${2//--never never/--never never.json} list.json ${3-} --json-field k"
    used $1 list-format "$2 list.hosts ${3-}" instead \
        "${2//--never never/--never never.hosts} list.hosts ${3-} --list-format hosts"
    used $1 delimiter "$2 commas ${3-} --field 1" '--delimiter ,'
}
opened() { # COMMAND, words with FILTER, its secret or another one
    used $1 key-file "${2//FILTER/s.umb}" "--key-file $3"
    used $1 no-checksum "${2//FILTER/damaged.umb}" --no-checksum
    used $1 max-memory "${2//FILTER/z.umb}" '--max-memory 1'
}
shapes() { # COMMAND WORDS
    used $1 kind "$2" '--kind counting'
    used $1 addressing "$2" '--addressing classic'
    used $1 fpr "$2" '--fpr 5%'
    used $1 bits "$2" '--bits 9000'
    used $1 exact-size "${2/list/many} --addressing classic" --exact-size
    used $1 cells "$2 --kind counting" '--cells 9000'
    used $1 hashes "$2 --bits 9000" '--hashes 3'
    used $1 cell-bits "$2 --kind counting" '--cell-bits 8'
    used $1 param "$2 --kind counting" '--param cell_bits=8'
}

used build output 'list -o out' instead 'list -o out2'
used build capacity 'list -o out' '-n 900'
used build max-memory '-o out < list' '--max-memory 10'
used build never 'list -o out --fpr 5%' '--never never'
used build weights 'list -o out --fpr 5% --kind ribbon --never weighed' --weights
used build allow-members 'list -o out --never odd' --allow-members
used build like 'list -o out --never never --fpr 5%' '--like f.umb'
used build universe 'list -o out --kind ribbon' '--universe never'
used build partition 'list -o out --kind ribbon --universe list' '--partition 1'
used build partition-prefix 'list -o out --kind ribbon --universe list' '--partition-prefix 1'
used build value-bits 'amounts -o out --kind ribbon' '--value-bits 2'
used build bytes 'list -o out --kind ribbon' '--bytes 500'
used build coded 'list -o out --bits 90000' --coded
used build times 'list -o out --kind counting' '--times 3'
used build amount-field 'amounts -o out --kind counting' '--amount-field 2'
shapes build 'list -o out'
used build key-form 'list -o out' '--key-form sha1'
used build hash 'list -o out' '--hash sip --key-file secret'
used build seed 'list -o out' '--seed 3'
used build groups 'list -o out' '--groups 2'
used build update "list -o out --kind counting --cells 2000 --hashes 4" '--update refined'
used build reset 'list -o out --kind generalized' '--reset 1'
used build set 'list -o out --kind generalized' '--set 1'
used build fill 'list -o out --kind generalized' '--fill 0.4'
used build key-file 'list -o out --hash sip' '--key-file secret'
used build strict 'list -n 150 -o out' --strict
keys build '' '-o out'

used check keys 'f.umb' '-f list'
used check count 'f.umb -f odd' -c
used check invert 'f.umb -f odd' -v
used check values 'c.umb -f odd' --values
used check threshold 'c.umb -f odd' '--threshold 4'
used check top 'c.umb -f odd' '--top 3'
used check also 'f.umb -f odd' '--also g.umb'
used check unless 'f.umb -f never' '--unless n.umb'
used check unless-first 'f.umb -f never -c --json --unless n.umb' --unless-first
used check unless-key-file 's.umb -f never --unless u.umb --key-file secret' '--unless-key-file other'
used check edits 'f.umb -f never -c' '--edits 1'
used check answer 'f.umb 7' --answer
used check confirm 'f.umb -f odd' '--confirm log'
keys check 'f.umb -v -f'
opened check 'FILTER 7' secret

used where index '--index ix 310' instead '--index words.ix 310'
used where add '--index new f.umb' --add
used where remove '--index ix 7' instead '--index ix --remove g.umb'
used where tokens '--index new --add f.umb' --tokens
used where fold-case '--index words.ix --add --tokens words' --fold-case
used where fpr '--index words.ix --add --tokens words' '--fpr 5%'
used where all '--index ix 7 310 --any' instead '--index ix 7 310 --all'
used where any '--index ix 7 310' --any
used where share '--index ix 7 310' '--share 50%'
used where print0 '--index ix 7' --print0
used where key-file '--index secret.ix 7' '--key-file secret'
used where no-checksum '--index new --add damaged.umb' --no-checksum
used where max-memory '--index new --add z.umb' '--max-memory 1'

used verify members 'f.umb' '--members list'
used verify outside 'f.umb --members list' '--outside never'
used verify false-positives 'f.umb --outside never' '--false-positives out'
keys verify 'f.umb --outside'
opened verify 'FILTER --outside never' secret

scanned='list never --hash sha1'
used scan filter "$scanned -F h.umb" '-F digests.umb'
used scan hash 'list -F digests.umb --hash sha1' instead 'list -F digests.umb --hash md5'
used scan unknown-only "$scanned -F digests.umb" --unknown-only
used scan print0 "$scanned -F digests.umb" --print0
used scan resume "$scanned -F digests.umb" '--resume out'
opened scan "$scanned -F FILTER" secret
used info data 'f.umb' --data
used info cpu 'f.umb' --cpu
used info svg 'f.umb' '--svg out'
used info html 'f.umb' '--html out'
opened info FILTER other

used add turn 'a.umb later' --turn
used add strict 'f.umb many' --strict
used add remove 'c.umb list' --remove
used add times 'c.umb list' '--times 3'
used add amount-field 'c.umb amounts' '--amount-field 2'
keys add f.umb
opened add 'FILTER later' secret

used merge output 'f.umb g.umb -o out' instead 'f.umb g.umb -o out2'
used merge op 'f.umb g.umb -o out' '--op and'
used merge as-counts 'c.umb c.umb --op minus -o out' --as-counts
used merge strict 'f.umb n.umb -o out' --strict
opened merge 'FILTER FILTER -o out' other

used diff output 'f.umb g.umb -o out' instead 'f.umb g.umb -o out2'
opened diff 'FILTER FILTER -o out' other
used patch output 'f.umb fg.umd -o out' instead 'f.umb fg.umd -o out2'
used patch key-file 's.umb s.umd -o out' '--key-file other'
used patch no-checksum 'damaged.umb damaged.umd -o out' --no-checksum
used patch max-memory 'z.umb z.umd -o out' '--max-memory 1'

used convert output 'f.umb --coded -o out' instead 'f.umb --coded -o out2'
used convert fold 'f.umb -o out --coded' '--fold 2'
used convert fpr 'f.umb -o out --coded' '--fpr 20%'
used convert to 'd.umb -o out --coded' instead 'd.umb -o out --to dcso'
used convert from 'd.bloom -o out' '--from dcso'
used convert strategy 'e.umb -o out --to guava --strategy 64' instead 'e.umb -o out --to guava --strategy 32'
used convert coded 'f.umb -o out --fold 2' --coded
used convert raw 'z.umb -o out' --raw
used convert data 'f.umb -o out' '--data data'
used convert key-file 's.umb -o out --fold 2' '--key-file other'
used convert no-checksum 'damaged.umb -o out --fold 2' --no-checksum
used convert max-memory 'z.umb -o out --raw' '--max-memory 1'

used plan key-form '-n 100' '--key-form domain'
used plan capacity '-n 1000' instead '-n 2000'
used plan bytes '-n 1000' '--bytes 5000'
used plan wire '-n 1000' '--wire 5000'
used plan max-memory '-n 1000 --wire 2000' '--max-memory 3000'
used plan clear '-n 1000' '--clear 50'
used plan retouch '-n 1000' '--retouch 0.5'
used plan threshold '--kind counting --counts amounts --threshold 2' instead '--kind counting --counts amounts --threshold 3'
used plan counts '--kind counting --threshold 2' '--counts amounts'
used plan fp-bound '--kind generalized --fn-bound 20%' '--fp-bound 5%'
used plan fn-bound '--kind generalized --fp-bound 5%' '--fn-bound 20%'
used plan flows '--threshold 1000 --traffic 1000000' '--flows 1000'
used plan traffic '--threshold 1000 --flows 1000' '--traffic 1000000'
used plan members '--never never' '--members list'
used plan never '--members list' '--never never'
used plan weights '--members list --never weighed --fpr 10%' --weights
used plan output '--members list --never never' '-o out.svg'
shapes plan '-n 1000'
used plan hash '--members list --never never --fpr 10%' '--hash murmur'
used plan seed '--members list --never never --fpr 10%' '--seed 3'
used plan groups '-n 1000' '--groups 2'
used plan update '--kind counting --cells 2000 --hashes 4 --addressing classic --threshold 2 --counts amounts' '--update refined'
used plan reset '-n 1000 --kind generalized' '--reset 1'
used plan set '-n 1000 --kind generalized' '--set 1'
used plan fill '-n 1000 --kind generalized' '--fill 0.4'
used plan key-file '--members list --never never --hash sip' '--key-file secret'
keys plan '--fpr 10% --never never --members'

used retouch members 'f.umb --never never -o out' '--members list'
used retouch never 'f.umb --members list -o out' '--never never'
r='f.umb --members list --never never --max-fn 0.5'
used retouch output "$r -o out" instead "$r -o out2"
used retouch weights 'f.umb --members amounts --never weighed --force --max-fn 0.5 -o out' --weights
used retouch method "$r -o out" '--method random'
used retouch max-fn 'f.umb --members list --never never -o out' '--max-fn 0.02'
used retouch all 'f.umb --members list --never never -o out' --all
used retouch cost 'f.umb --members list --never never -o out' '--cost 0.5'
used retouch beta "$r -o out" '--beta 0.3'
used retouch heaviest 'f.umb --members list --never heavy.tsv --max-fn 0.5 --beta 0.3 -o out' --heaviest
used retouch count-over "$r -o out --method ratio --beta 0.3" '--count-over outside'
used retouch closure "$r -o out --method random" --closure
anneal='f.umb --members list --never heavy.tsv --max-fn 0.03 -o out --method anneal'
used retouch moves "$anneal" '--moves 0'
used retouch seed "$r -o out --method random" '--seed 3'
used retouch curve "$r -o out" '--curve out.csv'
used retouch lost "$r -o out" '--lost lost'
used retouch dry-run "$r" --dry-run
used retouch allow-members 'f.umb --members list --never odd --all -o out' --allow-members
used retouch force 'f.umb --members odd --never never --all -o out' --force
keys retouch 'f.umb --force --dry-run --max-fn 0.5 --never never --members'
opened retouch 'FILTER --members list --never never --dry-run --max-fn 0.5' secret

used lint members 'f.umb' '--members never'
used lint fix 'full.umb --members many -o out' '--fix'
used lint output 'full.umb --members many --fix -o out' instead 'full.umb --members many --fix -o out2'
keys lint 'f.umb --members'
opened lint 'FILTER --members list' secret
used admit max-error f.umb '--max-error 1%'
used admit max-bytes f.umb '--max-bytes 10'
used admit kind f.umb '--kind counting'
used admit addressing f.umb '--addressing classic'
used admit hash f.umb '--hash sip'
used admit key-id s.umb '--key-id 1'
used admit claimed f.umb '--claimed 5000'
used admit max-memory z.umb '--max-memory 1'

used keygen output '-o out' instead '-o out2'
used keygen sign '-o out' --sign

used publish sign 'site g.umb' '--sign sign'
used publish valid 'site g.umb' '--valid 3'
used publish keep 'kept edition.umb' '--keep 1'
used publish never 'site f.umb --members list' '--never never'
used publish members 'site f.umb --never never' '--members list'
used publish strict 'site high.umb' --strict
used publish force 'site full.umb' --force
keys publish 'site f.umb --never never --members'
used publish key-file 'site s.umb --never never --members list' '--key-file secret'
used publish max-memory 'site z.umb --never never --members list' '--max-memory 1'

here='"file://$PWD/site/f.manifest"'
used pull output "$here -o out" instead "$here -o out2"
used pull trust "$here -o out" '--trust 0000000000000000000000000000000000000000000000000000000000000000'
used pull max-error "$here -o out" '--max-error 0.001%'
used pull max-bytes "$here -o out" '--max-bytes 10'
used pull exec "$here -o out" "--exec 'echo run'"
used pull max-memory "$here -o out" '--max-memory 1'

used sync init 'd --name a -n 300' --init
used sync name '--init d -n 300' '--name x'
used sync like '--init d --name a' '--like f.umb'
used sync capacity '--init d --name a -n 300' instead '--init d --name a -n 900'
shapes sync '--init d --name a -n 997'
used sync hash '--init d --name a -n 300' '--hash sip --key-file secret'
used sync key-file '--init d --name a -n 300 --hash sip' '--key-file secret'
used sync seed '--init d --name a -n 300' '--seed 3'
used sync update '--init d --name a -n 300 --kind counting' '--update refined'
used sync max-origins 'w --max-origins 3' instead 'w --max-origins 300'
for option in allow drop restore; do
    used sync $option 'w --max-origins 3' "--$option $(printf '%064d' 7)"
done
for option in 'groups 2' 'reset 1' 'set 1' 'fill 0.4'; do # refused: not paged
    used sync ${option% *} '--init d --name a -n 300' "--$option"
done

used reconcile pull 'list odd' --pull
used reconcile push 'list odd' --push
used reconcile both 'list odd' --both
used reconcile dry-run 'list odd' --dry-run
used reconcile limit 'list never --pull' '--limit 3'
used reconcile null 'list nulls' -0
used join anti 'list odd' --anti
used join estimate 'list odd' --estimate
keys join '' mixed

# No pair: by design every number of threads gives the same, and line-buffered
# does nothing; --time is another result each time; others need a server or another side
# (tests/net) or do not end.
for option in 'build --threads' 'check --threads' 'scan --threads' 'check --line-buffered' \
    'sync --stdio' 'reconcile --stdio' 'join --stdio' 'join --threads' 'retouch --time' 'pull --ca' 'pull --timeout' 'pull --min-rate' 'pull --watch'; do
    known[$option]=yes
done
while read -r command option _; do
    case $option in --json | --quiet | --no-progress | --help) continue ;; esac
    [ -n "${known[$command ${option%=}]-}" ] ||
        echo "no pair of command lines for umbel $command ${option%=}: add one above"
done < <(umbel --list)
