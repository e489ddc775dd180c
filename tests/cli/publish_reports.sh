# Reported keys that were removed do not come back without a word.
seq 20000 > members
seq 30001 32000 > outside
umbel build members --fpr 1% -q -o list.umb
umbel check list.umb -f outside > reports
umbel publish site list.umb --never reports --members members -q
try umbel publish site list.umb
grep -c reports site/list.manifest
# Built so that they do not match, it can be published without the option.
cp list.umb plain.umb
umbel build members --never reports --fpr 1% -q -o list.umb
try umbel publish site list.umb -q
try umbel publish site list.umb -q
# A word brings them back.
cp plain.umb list.umb
umbel publish site list.umb --never reports --members members -q
try umbel publish site list.umb --never /dev/null --members members -q
try umbel publish site list.umb -q
# Of filters with groups nobody knows.
umbel build members --groups 2 --fpr 1% -q -o groups.umb
umbel check groups.umb -f outside > reports
umbel publish site groups.umb --never reports --members members -q
try umbel publish site groups.umb -q
