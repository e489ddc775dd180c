# Kind table: counts, what it says of itself, and what it refuses.
seq 1000 > keys
try umbel build keys keys --kind table --capacity 1000 --fpr 1e-5 -o t.umb
umbel info t.umb | grep -E '^(count|entries|slots|room|fingerprint|counts|largest|table)'
umbel check t.umb --values 1 1000 1001
seq 1 2000 | umbel check t.umb --threshold 2 | wc -l
seq 2000 3000 > further
try umbel add t.umb further
umbel check t.umb --values 2000
umbel admit t.umb --claimed 1000 --max-error 1e-5 | head -n 1
umbel admit t.umb --claimed 900 --max-error 1e-5 | grep -o 'it has .*'
try umbel merge t.umb t.umb --op add -o m.umb
umbel plan --kind table --capacity 1e6 --fpr 2.5e-6 --cell-bits 15 | grep -E '^(bytes|bits per|error)'
try umbel build keys --kind table --capacity 1000 --hashes 7 -o x.umb
