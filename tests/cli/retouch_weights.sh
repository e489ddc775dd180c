# Weights: the last field of files named *.tsv, or of all with --weights.
seq 1000 > members
seq 10001 40000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.02
umbel check f.umb -f others | awk '{ print $0 "\t" (NR <= 20 ? 1000 : 1) }' > never.tsv
head -n 20 never.tsv | cut -f 1 > heavy

# The heavy ones go first.
umbel retouch f.umb --members members --never never.tsv --max-fn 3% -q -o r.umb
try umbel check r.umb -f heavy -c
umbel check r.umb -f others -c > left
test "$(cat left)" -gt 100 && echo others are left
umbel retouch f.umb --members members --never never.tsv --beta 0.05 --heaviest \
    --all -q -o r.umb --method ratio
try umbel check r.umb -f heavy -c

# Where no key is left, no weight is.
awk '{ print $1 "\t" 1 / NR }' never.tsv > parts.tsv
umbel retouch f.umb --members members --never parts.tsv --curve c.csv -q -o r.umb --all
cut -d , -f 5,7 c.csv | grep '^0,' | sort -u
umbel retouch f.umb --members members --never parts.tsv --max-fn 0 --dry-run | grep '^With'

# From a pipe, and with other fields.
cut -f 1,2 never.tsv | tr '\t' : > never.txt
sed 's/$/:1/' members > members.txt
try umbel retouch f.umb --members members.txt --never - --weights \
    --delimiter : --max-fn 3% -q -o s.umb < never.txt
umbel retouch f.umb --members members --never never.tsv --max-fn 3% -q -o r.umb
cmp r.umb s.umb

# What is no weight is refused, with its line.
for line in '7' $'7\t' $'7\tmany' $'7\tnan' $'7\t-1' $'7\tinf' $'7\t1 '; do
    printf '10001\t5\n%s\n' "$line" > bad.tsv
    try umbel retouch f.umb --members members --never bad.tsv --dry-run
done
