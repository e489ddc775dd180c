# A coprocess is answered line by line: output is flushed when input runs dry.
seq 1000 > list
umbel build list -o f.umb --quiet
umbel build --kind counting list -o c.umb --quiet

# What the coprocess prints next; the limit is for one that waits for more.
answer() { if read -r -t 60 line <&"${co[0]}"; then echo "  $line"; else echo "  nothing"; fi; }
ask() { printf '%b' "$1" >&"${co[1]}"; }
# Nothing may come, however slow the machine is.
silent() { if read -r -t 0.02 line <&"${co[0]}"; then echo "  too early: $line"; fi; }

# Each line, a line in two parts, one more with the beginning of the next; then
# the end of the input, whose last line lacks its end.
talk() {
    echo "$*"
    coproc co { "$@"; }
    pid=$!
    ask '7\n' && answer
    ask '8\n9\n' && answer && answer
    ask '1' && silent && ask '1\n' && answer
    ask '12\n1' && answer && silent && ask '3\n' && answer
    ask '14'
    eval "exec ${co[1]}>&-"
    answer
    wait "$pid"
    echo "[$?]"
}

talk umbel check f.umb
talk umbel check f.umb --threads 3
talk umbel check f.umb --line-buffered
talk umbel check f.umb --field 1 --delimiter ,
talk umbel check f.umb --json --threads 2
talk umbel check c.umb --values
talk umbel check f.umb --confirm log
tail -n 1 log

# A compressor that flushes is enough.
cat > compress.py << 'END'
import os, sys, zlib
z = zlib.compressobj(wbits=31)
while (b := os.read(0, 65536)):
    os.write(1, z.compress(b) + z.flush(zlib.Z_SYNC_FLUSH))
os.write(1, z.flush())
END
pipe() { python3 compress.py | umbel check f.umb; }
talk pipe

# A line that has no key is reported, and the next one is answered.
printf '%s\n' 00ff beef > digits
umbel build digits --hex -q -o h.umb
talk_hex() {
    coproc co { umbel check h.umb "$@" 2> bad; }
    pid=$!
    ask '00ff\n' && answer
    ask 'none\n'
    case $* in *json*) answer ;; esac
    ask 'BEEF\n' && answer
    eval "exec ${co[1]}>&-"
    wait "$pid"
    echo "[$?]"
    cat bad
}
talk_hex
talk_hex --json --threads 2
{ seq -f 'no %.0f' 100; cat digits; } > mixed
try umbel check h.umb -f mixed
try umbel check h.umb -f mixed -c --threads 3 2> /dev/null
try umbel check h.umb -f mixed -q 2> /dev/null
try umbel check h.umb 00ff 0g beef
