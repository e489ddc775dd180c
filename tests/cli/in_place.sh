# An output may be an input that was read before: it is replaced, not written
# into, so another name of the old file keeps the old content.
seq 1000 > keys
seq 1001 3000 > outside
fresh() {
    rm -f f.umb old.umb
    umbel build keys --bits 8192 --hashes 6 -q -o f.umb
    cp f.umb before
    ln f.umb old.umb
}
replaced() {
    cmp old.umb before
    cmp -s f.umb before && echo unchanged
    umbel verify f.umb --members keys -q || echo "[$?]"
}
umbel build outside --bits 8192 --hashes 6 -q -o other.umb
fresh
try umbel merge f.umb other.umb -q -o f.umb
replaced
fresh
try umbel convert f.umb --fold 2 -q -o f.umb
replaced
fresh
umbel check f.umb -f outside > wrong
try umbel retouch f.umb --members keys --never wrong --max-fn 0.01 -q -o f.umb
replaced
