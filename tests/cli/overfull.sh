# A filter with a higher error than it was built for is never written in
# silence: a warning goes to standard error, also with --quiet, and --strict
# writes nothing.
seq 1000 > first
seq 1001 2000 > second
seq 2001 9000 > third
cat first second third > all

echo "build:"
try umbel build all -n 1000 -q -o f.umb
umbel build all -n 1000 --json -o f.umb 2> /dev/null | grep -o '"notes".*'
try umbel build all -n 1000 -q -o - > piped.umb
cmp f.umb piped.umb
try umbel build all -n 1000 --strict -o no.umb
try umbel build all --bits 2048 -q -o b.umb
try umbel build all --bits 2048 -n 100 -q -o b.umb
try umbel build all -q --bits 2048 --strict -o no.umb
try umbel build all --kind counting -n 1000 --strict -q -o no.umb
absent no.umb
# A size that is too small for the error, with and without too many keys.
try umbel build all --bits 40000 --fpr 0.1% -q -o b.umb
try umbel build all --bits 40000 --fpr 0.1% --strict -q -o no.umb
try umbel build all --bits 40000 --fpr 0.1% -n 6000 -q -o b.umb
try umbel build all --kind counting --cells 40000 --fpr 0.1% -q -o b.umb
try umbel publish small b.umb -q
echo more | try umbel add b.umb -q
absent no.umb
# Repeated lines are not too many keys.
cat all all | try umbel build -n 9000 -q -o g.umb

echo "what keeps its promise:"
for kind in '' '--addressing classic' '--kind counting' '--kind scalable' \
    '--kind ribbon' '--kind table' '--kind tally' '--groups 2'; do
    # shellcheck disable=SC2086
    umbel build all $kind --strict -q -o g.umb || echo "refused: $kind"
done
for kind in '' '--addressing partitioned' '--kind counting' '--kind table'; do
    # shellcheck disable=SC2086
    umbel build $kind --strict -n 9000 -q -o g.umb < all || echo "refused: $kind"
done
# A few keys too many raise the error a little: only --strict minds.
seq 1010 | try umbel build -n 1000 --addressing classic -q -o g.umb
seq 1010 | try umbel build -n 1000 --addressing classic -q --strict -o no.umb
absent no.umb

echo "add:"
umbel build first -q -o a.umb
cksum < a.umb > before
try umbel add a.umb all --strict
cksum < a.umb | cmp before
try umbel add a.umb all -q
umbel sync --init dir --name here -n 100 -q
try umbel add dir all -q --strict
umbel check dir 5 || echo unchanged
try umbel add dir all -q

echo "merge: filters that were sized for their own keys"
umbel build first -q -o 1.umb
umbel build second -q -o 2.umb
seq 3001 4000 | umbel build -n 1000 -q -o 3.umb
try umbel merge 1.umb 2.umb 3.umb -q -o m.umb
try umbel merge 1.umb 2.umb 3.umb --strict -q -o no.umb
umbel build third -q -o large.umb
try umbel merge 1.umb 2.umb large.umb -q -o no.umb
for list in first second third; do umbel build $list -n 9000 -q -o $list.umb; done
try umbel merge first.umb second.umb third.umb --strict -q -o m.umb
absent no.umb

# Of a filter that is full nobody knows how many keys it has.
umbel build all -n 100 -q -o full.umb 2> /dev/null
echo more | try umbel add full.umb -q
try umbel merge full.umb full.umb -q -o m.umb

echo "convert: folded until it matches everything"
umbel build first --bits 16384 -q -o f16.umb
try umbel convert f16.umb --fold 16 -q -o folded.umb
umbel convert f16.umb --fold 16 --json -o folded.umb 2> /dev/null | grep -o '"notes".*'
try umbel convert f16.umb --fold 2 -q -o folded.umb
try umbel convert full.umb --coded -q -o coded.umb

echo "publish: its cells show that it has more keys than were new"
try umbel publish site f.umb -q
absent site/f.manifest
umbel build second -n 300 -q -o high.umb 2> /dev/null
try umbel publish site high.umb -q --strict
absent site/high.manifest
try umbel publish site high.umb -q
try umbel publish site f.umb -q --force
# Readers refuse what publish had refused.
for name in f high; do
    umbel pull "file://$PWD/site/$name" -q -o copy.$name
    echo "[$?]"
done
umbel build all --kind ribbon --universe all -q -o exact.umb
try umbel publish site exact.umb -q
