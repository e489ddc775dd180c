# Generations of an aging filter turn when told; other kinds have none.
seq 10 | umbel build --kind aging --capacity 100 -q -o stream.umb
seq 11 20 | umbel add -q --turn stream.umb
seq 20 | umbel check -c stream.umb
seq 21 30 | umbel add -q --turn stream.umb
seq 30 | umbel check -c stream.umb
seq 21 30 | umbel check -c stream.umb
seq 10 | umbel build -q -o set.umb
umbel add --turn set.umb /dev/null 2>&1
umbel add --turn --remove stream.umb /dev/null 2>&1
