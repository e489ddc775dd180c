# The trade-off: a line for every step, from nothing lost to the end.
seq 2000 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.01
try umbel retouch f.umb --members members --never others --all --dry-run -q --curve c.csv
head -n 2 c.csv
tail -n 1 c.csv | cut -d , -f 5
awk -F , 'NR > 2 && ($4 < removed) { print "goes back", $0 } { removed = $4 }' c.csv
try umbel retouch f.umb --members members --never others --all --dry-run -q --curve c.svg
head -c 4 c.svg; echo
tail -n 1 c.svg
grep -c polyline c.svg
try umbel retouch f.umb --members members --never others --all --dry-run -q --curve none/c.csv
