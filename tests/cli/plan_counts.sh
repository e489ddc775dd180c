# How wrong a threshold will be, from how often keys come.
awk 'BEGIN { for (i = 1; i <= 10000; i++) print "key" i "\t" int(10000 / i) }' > counts
shape=(--kind counting --cells 80000 --hashes 4 --cell-bits 6 --addressing classic)
try umbel plan "${shape[@]}" --threshold 20 --counts counts
try umbel plan "${shape[@]}" --update refined --threshold 20 --counts counts
# In blocks it is no bound: a frequent key may hold several cells of another.
umbel plan --kind tally --threshold 10 --counts counts | grep 'reach it'
cut -f 2 counts > alone
umbel plan "${shape[@]}" --threshold 20 --counts alone --json > a
umbel plan "${shape[@]}" --threshold 20 --counts counts --json > b
cmp a b && grep -o '"f_[a-z_]*\|"overflow[a-z_]*' a
bad() {
    try umbel plan "$@" 2>&1
}
bad "${shape[@]}" --threshold 64 --counts counts
bad "${shape[@]}" --threshold 0 --counts counts
bad "${shape[@]}" --threshold 20
bad "${shape[@]}" --threshold 20 --counts counts --capacity 5
bad --bits 80000 --threshold 20 --counts counts
echo x > none
bad "${shape[@]}" --threshold 20 --counts none
echo 0 > none
bad "${shape[@]}" --threshold 20 --counts none
