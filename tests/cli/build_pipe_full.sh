# Where nearly every key seems to be in already, new ones are not counted; the
# error asked for must hold all the same, or the build be refused.
for n in 5000 6000 7000 8000 10000 14000; do
    seq $n | umbel build --max-memory 1500 --fpr 50% -o f.umb --json \
        > report 2> err
    awk -v error="$(field predicted_error < report)" -v n=$n \
        'BEGIN { if (error > 0.51) print n " keys: error " error }'
done
echo tried
