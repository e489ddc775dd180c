# Interrupted annealing keeps its best result and reports the interruption.
seq 500 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.01
mkfifo never
env --default-signal=INT umbel retouch f.umb --members members --never never \
    --all --method anneal --time 100000 -o r.umb > said &
cat others > never
# Wait until it minds interrupts, and then, so that most of them come amid
# annealing, until it has computed for a while: what it keeps is right before, too.
minds() {
    local caught
    caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$!/status)
    [ $((0x${caught:-0} & 2)) != 0 ] # SIGINT's bit
}
computed() { awk '{ exit !($14 >= 30) }' /proc/$!/stat; }
while kill -0 $! && ! { minds && computed; }; do sleep 0.1; done
kill -INT $!
wait $!
echo "$?"
grep interrupted said
try umbel check r.umb -f others -c
umbel verify -q r.umb --members members && echo fine
