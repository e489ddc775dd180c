# Keyed filters, and keys in hexadecimal and with NUL.
fixed_secret key 1
seq -f %04.0f 1000 1999 > members
seq -f %04.0f 2000 9999 > others
umbel build -q members -o f.umb --hash sip --key-file key --hex --fpr 0.02
refused umbel retouch f.umb --members members --never others --hex --all -o r.umb
try umbel retouch f.umb --members members --never others --hex --all -q -o r.umb \
    --key-file key
try umbel check r.umb --key-file key --hex -f others -c
tr '\n' '\0' < members > members0
tr '\n' '\0' < others > others0
umbel build -q -0 members0 -o f.umb --fpr 0.02
try umbel retouch -0 f.umb --members members0 --never others0 --all -q -o r.umb --lost lost
try umbel check -0 r.umb -f others0 -c
tr -cd '\0' < lost | wc -c > n
umbel info r.umb --json | field known_false_negatives | cmp - n

# A secret is not written over.
cp key kept
try umbel retouch f.umb --members members --never others --key-file key --dry-run --lost key
try umbel build members --hash sip --key-file key -o key
cmp key kept
