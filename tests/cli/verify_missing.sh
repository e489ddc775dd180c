# Exit code 1 says that members are denied, and only that.
seq 1000 > members
seq 5001 5500 > others
umbel build -q members -o f.umb
try umbel verify f.umb --members others
try umbel verify f.umb --members others --json > verdict
field false_negatives < verdict
try umbel verify f.umb --members others -q

# False positives are no failure, however many.
umbel build -q members --bits 1024 -o full.umb
try umbel verify -q full.umb --members members --outside others
