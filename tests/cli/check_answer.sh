# check --answer: one line for every line of input, at once.
seq 1000 > list
umbel build list -o f.umb --quiet
printf '%s\n' 00ff beef > digits
umbel build digits --hex -q -o h.umb

ask() { printf '%b' "$1" >&"${co[1]}"; }
answer() { if IFS= read -r -t 60 line <&"${co[0]}"; then show "$line"; else echo "  nothing"; fi; }
show() { echo "  ${1//$'\t'/|}"; }

# Empty and refused lines, a line in two parts, two at once, a last one without its end.
talk() {
    echo "$*"
    coproc co { "$@"; }
    pid=$!
    ask '7\n' && answer
    ask 'none\n' && answer
    ask '\n' && answer
    ask 'a\tb\r\n' && answer
    ask '1' && ask '1\n' && answer
    ask '12\n00ff\n' && answer && answer
    ask 'BEEF'
    eval "exec ${co[1]}>&-"
    answer
    wait "$pid"
    echo "[$?]"
}
talk umbel check f.umb --answer
talk umbel check h.umb --answer
talk umbel check h.umb --answer --json

# Keys on the command line; NUL ends.
try umbel check h.umb --answer 00FF 00fe xyz | tr '\t' '|'
printf '7\n\0008\0' | umbel check f.umb --answer --null | tr '\t\0' '|+'
echo

# A line of 1 MiB is a key; a longer one is refused, and the next is answered.
long() { head -c "$1" /dev/zero | tr '\0' a; }
{ long 1048576; echo; long 1048577; echo; long 5000000; echo; echo 7; long 3000000; } |
    umbel check f.umb --answer | cut -c 1-12 | tr '\t' '|'

# No match, and nothing to answer.
try umbel check f.umb --answer wrold | tr '\t' '|'
try umbel check f.umb --answer < /dev/null
try umbel check f.umb --answer -q
try umbel check f.umb --answer -f list

# A directory of umbel sync: all origins are asked.
umbel sync --init d --name a -n 2000 -q
umbel add d list -q
try umbel check d --answer 7 wrold | tr '\t' '|'
