# Answers that do not reach their reader are trouble, not success.
seq 10000 > keys
umbel build -q keys -o f.umb
try umbel build keys -o /dev/full
try umbel merge f.umb -o /dev/full
try umbel convert f.umb --fold 1 -o /dev/full
umbel build -q keys -o - > /dev/full 2> err
echo "$? $(grep -c "No space left" err)"
try umbel build keys -o g.umb > /dev/full
try umbel check f.umb 1 > /dev/full
umbel check f.umb -f keys > /dev/full 2> err
echo "$? $(grep -c "No space left" err)"
try umbel check -c f.umb -f keys > /dev/full
try umbel info f.umb > /dev/full
try umbel info --json f.umb > /dev/full
try umbel plan --capacity 5 > /dev/full
try umbel verify f.umb --members keys > /dev/full
try umbel verify -q f.umb --outside keys --false-positives /dev/full
try umbel verify -q f.umb --outside keys --false-positives - > /dev/full
try umbel add f.umb keys > /dev/full
try umbel keygen -o my.key > /dev/full
try umbel --help > /dev/full
try umbel check --help > /dev/full
try umbel --version > /dev/full
try umbel info f.umb >&-

# -q has nothing to say, so nothing is lost.
try umbel check -q f.umb 1 > /dev/full
