# Annealing that is interrupted keeps the best so far, and says so.
seq 500 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.01
mkfifo never
env --default-signal=INT umbel retouch f.umb --members members --never never \
    --all --method anneal --time 100 -o r.umb > said &
cat others > never
# Reading takes no time worth the name: wait until it has computed for a while.
while [ "$(awk '{ print $14 }' /proc/$!/stat)" -lt 30 ]; do sleep 0.1; done
kill -INT $!
wait $!
echo "$?"
grep stopped said
try umbel check r.umb -f others -c
umbel verify -q r.umb --members members && echo fine
