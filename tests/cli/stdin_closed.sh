# Without standard input its number must not fall to a file of ours: add would
# read the filter as keys.
seq 10 > keys
umbel build -q keys -n 100 -o f.umb
cp f.umb before
refused umbel add f.umb <&-
try cmp f.umb before
refused umbel build -q -n 5 -o no.umb <&-
refused umbel check f.umb <&-
refused umbel verify f.umb --members - <&-
refused umbel info - <&-
absent no.umb

# Commands that read no standard input work without it, and no message is
# written into a filter.
try umbel add -q f.umb keys <&-
try umbel build -q keys keys -n 10 -o g.umb <&-
try umbel check -c g.umb -f keys <&-
umbel add f.umb missing >&- 2>&-
echo "$?"
try cmp f.umb before
umbel build keys -n 10 -o h.umb >&- 2>&-
try cmp g.umb h.umb
