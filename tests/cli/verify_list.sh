# --false-positives holds exactly the outside keys that check matches, in order.
seq 1000 > members
seq 5001 15000 > outside
umbel build -q members --fpr 5% -o f.umb
try umbel verify -q f.umb --outside outside --false-positives listed
umbel check f.umb -f outside > matching
try cmp listed matching
wc -l < listed

# Whole lines, as check prints them, when a field is the key.
sed 's/$/\tinfo/' outside > fields
try umbel verify -q f.umb --outside fields --field 1 --false-positives lines
umbel check f.umb --field 1 -f fields > matching
try cmp lines matching

# Records of -0 end with NUL there too, or their newlines would tear them.
tr '\n' '\0' < outside > records
try umbel verify -q -0 f.umb --outside records --false-positives ended
umbel check -0 f.umb -f records > matching
try cmp ended matching

# On standard output the report would be taken for keys.
try umbel verify f.umb --outside outside --false-positives - 2> /dev/null > listed
umbel check f.umb -f outside > matching
try cmp listed matching

try umbel verify f.umb --outside outside --false-positives missing/listed

# A list that is there already may be the only copy.
try umbel verify -q f.umb --outside outside --false-positives members
: > empty
try umbel verify -q f.umb --outside outside --false-positives empty
try cmp empty matching
