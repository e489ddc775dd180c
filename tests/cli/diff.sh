# Differences: the new filter from the old one, byte for byte.
seq 1 10000 > old
seq 101 10200 > new
for kind in bloom counting aging; do
    umbel build -q old --kind $kind -n 11000 -o old.umb
    umbel build -q new --kind $kind -n 11000 -o new.umb
    try umbel diff old.umb new.umb -o d
    try umbel patch old.umb d -o got.umb
    cmp new.umb got.umb
done

# Raw and coded, on either side; the new one comes back as it was.
umbel build -q old -n 11000 -o old.umb
umbel build -q new -n 11000 -o new.umb
umbel build -q old -n 11000 --coded -o old-coded.umb
umbel build -q new -n 11000 --coded -o new-coded.umb
umbel diff -q old.umb new-coded.umb -o d
umbel patch -q old-coded.umb d -o got.umb
cmp new-coded.umb got.umb
try umbel diff old-coded.umb new.umb --json -o d
try umbel patch old.umb d --json -o got.umb
cmp new.umb got.umb
umbel diff -q old.umb new.umb -o - | umbel patch -q old.umb - -o - | cmp new.umb
cp old.umb f.umb
umbel patch -q f.umb d -o f.umb
cmp new.umb f.umb

# Nothing changed; everything did.
umbel diff old.umb old.umb -o d
umbel build -q new -n 11000 --seed 5 -o other.umb
try umbel diff old.umb other.umb -o no

umbel build -q old --kind ribbon -o one.umb
umbel build -q new --kind ribbon -o two.umb
try umbel diff one.umb two.umb -o no

# A wrong base, and differences that are none.
umbel diff -q old.umb new.umb -o d
try umbel patch new.umb d -o no
try umbel patch old.umb old -o no
try umbel patch old.umb old.umb -o no
head -c 500 d > part
try umbel patch old.umb part -o no
printf 'x' | dd of=d bs=1 seek=400 conv=notrunc status=none
try umbel patch old.umb d -o no
try umbel patch old.umb missing -o no
try umbel diff old.umb new.umb
try umbel diff old.umb new.umb -o old.umb
try umbel diff - - -o no
absent no

# Keyed filters need no key.
umbel keygen -q -o key
umbel build -q old -n 11000 --hash sip --key-file key -o old.umb
umbel build -q new -n 11000 --hash sip --key-file key -o new.umb
umbel diff -q old.umb new.umb -o d
umbel patch -q old.umb d -o got.umb
cmp new.umb got.umb
