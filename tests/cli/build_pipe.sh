# How many keys a pipe has is known only at its end; the error asked for
# holds all the same, and the room taken is not the room allowed.
seq 20000 | umbel build --fpr 1% --json -o pipe.umb > report
awk -v error="$(field predicted_error < report)" \
    -v bytes="$(field bytes < report)" \
    'BEGIN { print (error <= 0.01 ? "within" : error), bytes < 60000 }'
seq 20000 > keys
seq 1000001 1020000 > others
try umbel verify pipe.umb --members keys --outside others --json > verdict
field false_negatives < verdict
awk -v n="$(field false_positives < verdict)" \
    'BEGIN { print (n < 300 ? "few" : n) }'

# Standard input that is a file, and "-" among files, are read once too.
try umbel build -q -o file.umb < keys
try umbel build -q keys - -o both.umb < others
try umbel check -c both.umb -f others

# Within a limit they are counted first, in a temporary file: the size is that of
# a list.
try umbel build -q --max-memory 50MB -o limited.umb < keys
umbel build -q keys -o list.umb
umbel info limited.umb --json | field payload_checksum > limited
umbel info list.umb --json | field payload_checksum | cmp - limited
