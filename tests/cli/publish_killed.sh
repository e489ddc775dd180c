# Killed at any moment, a publisher leaves a directory in which everything that the
# manifest names is there, and right; the next one goes on.
seq 100000 > first
sed '1,100s/$/-new/' first > second
for list in first second; do umbel build $list -n 110000 -q -o $list.umb; done
umbel keygen --sign -o key -q
mkdir names
cp first.umb names/words.umb
umbel publish site names/words.umb --sign key -q

whole() {
    local digest ending
    sed -n 's/^filter \([0-9a-f]*\) .*/\1 umb/p; s/^step [0-9a-f]* \([0-9a-f]*\) .*/\1 umd/p' \
        site/words.manifest |
        while read -r digest ending; do
            [ "$(b2sum -l 256 < "site/$digest.$ending" | cut -d' ' -f1)" = "$digest" ] ||
                echo "$digest.$ending is not whole"
        done
    umbel pull "file://$PWD/site/words" -o "copy.$1" --trust key.pub -q
    cmp -s "copy.$1" first.umb || cmp -s "copy.$1" second.umb || echo "round $1"
}
for i in $(seq 20); do
    if [ $((i % 2)) = 0 ]; then cp first.umb names/words.umb
    else cp second.umb names/words.umb; fi
    ASAN_OPTIONS=detect_leaks=0 umbel publish site names/words.umb --sign key -q &
    one=$!
    sleep "0.0$((RANDOM % 4))$((RANDOM % 10))"
    kill -9 $one 2> /dev/null
    wait $one 2> /dev/null
    whole "$((i % 2))"
done
try umbel publish site names/words.umb --sign key -q
whole 0
ls -a site | sed 's/^[0-9a-f]\{64\}\./DIGEST./' | grep -v DIGEST
