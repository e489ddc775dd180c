# umbel lint: what it finds in files of every format, and its exit codes.
seq 3000 > keys
umbel build keys -q -o good.umb
try umbel lint good.umb
try umbel lint good.umb --members keys --json
(cat keys; echo missing) > larger
try umbel lint good.umb --members larger
umbel build keys -n 1500 -q -o full.umb 2> /dev/null
try umbel lint full.umb --json
try umbel lint good.umb full.umb -q
try umbel lint full.umb --members keys --fix -o fixed.umb
try umbel lint good.umb --members keys --fix -o same.umb
try ls same.umb
# other formats are recognised, and repaired in the same format
for format in dcso guava; do
    umbel build keys --addressing $format -n 1500 -q -o f.umb 2> /dev/null
    umbel convert f.umb --to $format -q -o f.$format
    try umbel lint f.$format
    try umbel lint f.$format --members keys --fix -o fixed.$format
    try umbel convert fixed.$format --from $format -q -o back.umb
done
umbel build keys --addressing dcso --bits 65536 --hashes 10 -q -o classes.umb
try umbel lint classes.umb
umbel build keys --hash xxh3 --seed 7 -q -o seed.umb
try umbel lint seed.umb
umbel build keys -n 3000 --fpr 1% --bits 1e6 -q -o large.umb
try umbel lint large.umb
umbel build keys --kind ribbon -q -o static.umb
try umbel lint static.umb --members larger --fix -o never.umb
# what cannot be read
echo text > text
head -c 100 good.umb > cut.umb
try umbel lint text good.umb
try umbel lint cut.umb
try umbel lint nowhere.umb
try umbel lint good.umb --fix
try umbel lint good.umb full.umb --members keys --fix -o x.umb
