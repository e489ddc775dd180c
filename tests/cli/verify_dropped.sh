# Members among the outside keys are not false positives; they are counted apart.
seq 1000 > members
seq 901 1900 > outside
umbel build -q members -o f.umb
try umbel verify f.umb --members members --outside outside
umbel verify f.umb --members members --outside outside --json > verdict
echo "outside $(field outside < verdict), dropped $(field dropped < verdict)"

# They are not in the list of false positives either.
umbel verify -q f.umb --members members --outside outside --false-positives listed
try grep -cx -F -f members listed
