# A command that runs when there is a new filter, once or while watching.
seq 1000 > keys
umbel build keys -n 2000 -q -o words.umb
umbel publish site words.umb -q
copy=copy.umb
pull() { umbel pull "file://$PWD/site/words" -o $copy "$@"; }
newer() { # N
    echo "$1" | umbel add words.umb -q
    umbel publish site words.umb -q
}
# Waits until a file has that many lines.
lines() { # FILE N
    until [ "$(cat "$1" 2>/dev/null | wc -l)" -ge "$2" ]; do sleep 0.05; done
}
try pull -q --exec 'echo "$UMBEL_FILE is edition $UMBEL_SERIAL"; umbel check "$UMBEL_FILE" 7'
try pull -q --exec 'echo there is nothing new'
newer 5001
try pull -q --exec 'exit 3'
newer 5002
try pull -q --exec 'kill -9 $$'
cmp copy.umb words.umb

# What failed is owed: by this file alone, until it succeeds.
copy=other.umb
pull -q
try pull -q --exec 'echo not owed here'
copy=copy.umb
try pull -q
try pull --exec 'exit 4' | grep -v transferred
try pull --exec 'echo "edition $UMBEL_SERIAL is made up for"' | grep -v transferred
try pull -q --exec 'echo not again'
newer 5010
pull -q
try pull -q --exec 'echo nobody was to run it'

# While watching, a command that fails runs again after the next look.
newer 5003
umbel pull "file://$PWD/site/words" -o copy.umb --watch 1 -q \
    --exec 'echo "edition $UMBEL_SERIAL" >> log; [ "$(wc -l < log)" != 1 ]' 2> errors &
lines log 2
kill -INT $! # ignored in the background, as by nohup, and it stays so
newer 5004
lines log 3
kill -TERM $!
wait $!
echo "ended with $?"
cat log errors

# A signal ends the command first.
newer 5005
umbel pull "file://$PWD/site/words" -o copy.umb --watch 1 -q \
    --exec 'trap "echo ended >> second; exit 1" TERM; echo began >> second; sleep 1000 & wait' &
lines second 1
kill -TERM $!
wait $!
echo "ended with $?"
cat second
