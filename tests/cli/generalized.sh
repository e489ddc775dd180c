# Bits of a stranger: plain filters believe ones, generalized ones do not.
seq 1000 > keys
seq 100001 200000 > strangers
try umbel build keys --kind generalized --reset 4 --set 4 --bits 302000 -o g.umb
umbel verify g.umb --members keys
umbel info g.umb --json | grep -o '"\(reset\|set\|start\|hashes\)": [0-9]*'
umbel info g.umb | grep '^f[pn] '
shape=(--kind generalized --reset 4 --set 4 --bits 51200 --capacity 1)
for fill in 0 0.25 0.5 75% 1; do
    : | umbel build - "${shape[@]}" --fill "$fill" -q -o content.umb
    echo "$fill: $(umbel check content.umb -f strangers -c)"
done
umbel build keys --kind generalized --set 3 --reset 2 --bits 302000 -q -o a.umb
umbel build keys --kind generalized --param reset=2 --param set=3 --bits 302000 -q -o b.umb
cmp a.umb b.umb && echo the same
umbel build keys --kind generalized --reset 0 --set 4 --bits 8192 -q -o plain.umb
umbel build keys --bits 8192 --hashes 4 -q -o bloom.umb
umbel check plain.umb -f strangers > x
umbel check bloom.umb -f strangers | cmp - x && echo plain
try umbel plan --kind generalized --fp-bound 0.0625 --fn-bound 0.06
try umbel plan --kind generalized --fp-bound 1% --fn-bound 0.1 --capacity 1000 --json
