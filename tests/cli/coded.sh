# Coded files: fewer bytes, the same filter, taken by every command.
seq 1 20000 > keys
seq 20001 21000 > extra
umbel build -q keys --bits 1000000 --hashes 2 -o raw.umb
try umbel build keys --bits 1000000 --hashes 2 --coded -o coded.umb
try umbel convert raw.umb --coded -o same.umb
cmp coded.umb same.umb
try umbel convert coded.umb --raw -o same.umb
cmp raw.umb same.umb
for name in coded payload_bytes stored_bytes shannon_bytes; do
    echo "$name: $(umbel info --json coded.umb | field $name)," \
        "raw $(umbel info --json raw.umb | field $name)"
done

# Every command takes it, and what it writes keeps the form.
try umbel check coded.umb 7 30000
try umbel verify coded.umb --members keys -q
umbel add -q coded.umb extra
umbel add -q raw.umb extra
try umbel convert raw.umb --coded -q -o same.umb
cmp coded.umb same.umb
umbel merge -q coded.umb raw.umb -o merged.umb
umbel info --json merged.umb | field coded
umbel convert -q coded.umb --fold 2 -o half.umb
umbel info --json half.umb | field coded
umbel convert -q coded.umb --fold 2 --raw -o half.umb
umbel info --json half.umb | field coded
umbel check coded.umb -f keys -c
cat coded.umb | umbel check - 7
umbel build -q keys --bits 1000000 --hashes 2 --coded -o - | umbel info - \
    | grep '^coded'

# Counters gain more.
umbel build -q keys --kind counting -o counts.umb
try umbel convert counts.umb --coded -o counts.umb
try umbel convert counts.umb --coded --json -o counts.umb

# What it takes in memory has a limit.
try umbel check coded.umb --max-memory 100k 7
try umbel check coded.umb --max-memory 126k 7
refused umbel convert raw.umb --coded --raw -o no.umb
refused umbel convert raw.umb -o no.umb

# Damage is noticed.
head -c 5000 coded.umb > cut.umb
try umbel info cut.umb
printf 'x' | dd of=coded.umb bs=1 seek=3000 conv=notrunc status=none
try umbel info coded.umb
absent no.umb
