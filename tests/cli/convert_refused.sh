# Folds that cannot be.
seq 1000 > keys
umbel build -q keys --bits 49152 -o f.umb
try umbel convert f.umb --fold 5 -o small.umb
try umbel convert f.umb --fold 0 -o small.umb
try umbel convert f.umb --fold 1000000 -o small.umb
try umbel convert f.umb --fold half -o small.umb
try umbel convert f.umb --fold 2 --fpr 0.1 -o small.umb
try umbel convert f.umb -o small.umb
try umbel convert f.umb --fold 2
try umbel convert --fold 2 -o small.umb
try umbel convert f.umb --fpr 1e-12 -o small.umb
try umbel convert f.umb --fpr 2 -o small.umb

# Files of others are not replaced by ours, nor ours by theirs.
umbel build -q keys --addressing dcso -o f.umb
umbel convert -q f.umb --to dcso -o f.bloom
cp f.bloom copy
ln f.bloom other
try umbel convert f.bloom --from dcso -o f.bloom
try umbel convert f.bloom --from dcso -o other
try umbel convert f.umb --to dcso -o f.umb
try umbel convert -q f.bloom --from dcso --to dcso -o f.bloom
cmp f.bloom copy
rm copy other
ls
