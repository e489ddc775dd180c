# A list written over what is being read would destroy it.
seq 1000 > members
seq 5001 6000 > outside
umbel build -q members -o f.umb
cp f.umb copy
refused umbel verify -q f.umb --outside outside --false-positives outside
wc -l < outside
refused umbel verify -q f.umb --outside outside --false-positives f.umb
try cmp f.umb copy
