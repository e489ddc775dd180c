# Error measured on keys whose truth is known.
seq 1000 > members
seq 5001 25000 > outside
umbel build -q members -o f.umb
try umbel verify f.umb --members members
try umbel verify f.umb --members members --outside outside
try umbel verify f.umb --members members --outside outside --json
try umbel verify f.umb --outside outside --json
try umbel verify f.umb --members members -q

# The options may be given again; each file counts.
try umbel verify f.umb --members members --members members

# An empty list is reported.
umbel verify f.umb --members /dev/null 2>&1 | grep -q . || echo silence
umbel verify f.umb --outside /dev/null 2>&1 | grep -q . || echo silence

try umbel verify f.umb
try umbel verify --members members
try umbel verify f.umb f.umb --members members
try umbel verify f.umb --members members --false-positives found
try umbel verify f.umb --members missing
# Nothing measured is not an error from 0 to 100 %.
: > empty
umbel build members --fpr 1e-7 -q -o exact.umb
try umbel verify exact.umb --outside empty
try umbel verify exact.umb --outside empty --json
try umbel verify exact.umb --outside members
# One notation for the rates of an interval.
seq 100001 160000 > others
try umbel verify exact.umb --outside others | grep measured
umbel build others --fpr 0.01% -q -o m.umb
try umbel verify m.umb --outside outside | grep measured
