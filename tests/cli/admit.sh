# A filter from elsewhere: what is demanded is held, and each reason has a line.
seq 2000 > keys
umbel build -q keys --addressing classic -o f.umb
try umbel admit f.umb
try umbel admit f.umb --max-error 0.1% --max-bytes 4kB --claimed 2000
try umbel admit f.umb --json
try umbel admit f.umb --max-bytes 1000
try umbel admit f.umb --hash sip --kind counting --addressing blocked512 \
    --key-id 0123456789abcdef --claimed 1000 --max-error 1e-6
try umbel admit f.umb --hash sip --claimed 5000 --json
try umbel admit -q f.umb --hash sip
try umbel admit - < f.umb
try umbel admit - --max-bytes 4000 < <(cat f.umb)
try umbel admit - --max-bytes 1000 < <(cat f.umb)

# The report prints the false negatives that a filter records, admitted or not.
seq 2001 200000 > others
umbel check f.umb -f others | head -n 20 > never
umbel retouch f.umb --members keys --never never -q -o denies.umb
try umbel admit denies.umb
umbel admit denies.umb --json | field has_false_negatives
umbel admit denies.umb --json --claimed 9000 | field known_false_negatives
umbel build -q keys --kind aging -n 1000 -o aging.umb
try umbel admit aging.umb

# Keyed, and judged without the key.
fixed_secret key 1
umbel build -q keys --hash sip --key-file key -o keyed.umb
id=$(umbel info --json keyed.umb --key-file key | field secret_id)
umbel admit -q keyed.umb --key-id "$id" --hash sip
echo "$?"
umbel admit keyed.umb --key-id 0000000000000001 | sed "s/$id/ID/"

# What is no filter any more is refused, and what is not there is trouble.
head -c 2000 f.umb > short.umb
try umbel admit short.umb
try umbel admit short.umb --json
try umbel admit keys
cp f.umb damaged.umb
forge flip damaged.umb 1000
try umbel admit damaged.umb
try umbel admit none.umb 2>&1
try umbel admit . 2>&1
try umbel admit 2>&1
try umbel admit f.umb f.umb 2>&1
for option in '--max-error 0' '--max-error 2' '--max-bytes 0' '--claimed 0' \
    '--key-id 12' '--key-id 0000000000000000' '--hash xxh4' '--kind blume'; do
    # shellcheck disable=SC2086 # an option and its value
    try umbel admit f.umb $option 2>&1
done
