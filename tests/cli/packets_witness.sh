# Slices of routers, and which of them saw a packet.
tests=$(dirname "$(readlink -f "$BASH_ENV")")/../packets
capture() { python3 "$tests/capture.py"; }
for i in $(seq 200); do
    echo "$((1700000000 + i)) 192.0.2.$i 198.51.100.7 17 $i 53 100"
done > day
capture < day > day.pcap
sed -n 50p day | capture > one.pcap
echo '1700000050 203.0.113.1 198.51.100.7 17 50 53 100' | capture > other.pcap
echo '1700000500 192.0.2.50 198.51.100.7 17 50 53 100' | capture > later.pcap

umbel packets witness day.pcap --dir r1 --seed 1 --json --fpr 1e-6
umbel packets witness - --dir b --router r2 --seed 2 --fpr 1e-6 -q < day.pcap
umbel packets witness other.pcap --dir r9 --seed 9 --fpr 1e-6 -q
ls r1
try umbel packets did r1 b one.pcap --json
digest=$(umbel packets did r1 one.pcap | cut -d' ' -f1)
umbel packets did r1 b "$digest" | cut -d' ' -f2
printf 'victim r1\nr1 r2 # a link\nr2 r3\nr3 r9\n' > links
try umbel packets did r1 one.pcap other.pcap
umbel packets did r9 b r1 one.pcap --topology links --json | cut -d, -f2,6
umbel packets did r9 b r1 other.pcap --topology links --json | cut -d, -f2,6
try umbel packets did r1 b day.pcap --summary
try umbel packets did r1 other.pcap
try umbel packets did r1 later.pcap
umbel packets did r1 later.pcap --skew 10m | wc -l
try umbel packets did r1 0123456789abcdef
umbel packets did r1 one.pcap -q

# Old slices are removed, the same seed gives the same files.
umbel packets witness day.pcap --dir kept --slice 10s --keep 60s --seed 1 -q
ls kept | wc -l
umbel packets witness day.pcap --dir again --router r1 --seed 1 -q --fpr 1e-6
cmp r1/1699999980-000.slice again/1699999980-000.slice
umbel info r1/1699999980-000.slice --data

# Refusals.
mkdir empty
try umbel packets did empty one.pcap
try umbel packets did nowhere one.pcap
try umbel packets did one.pcap
try umbel packets did r1 one.pcap --skew 5
cp r1/1699999980-000.slice b/1699999980-001.slice
try umbel packets did b one.pcap
umbel build -o plain.umb -q <<< key
mkdir plain
cp plain.umb plain/0000000000-000.slice
try umbel packets did plain one.pcap
head -c 200 r1/1699999980-000.slice > plain/0000000000-000.slice
try umbel packets did plain one.pcap
try umbel packets witness day.pcap
try umbel packets witness --dir r1
try umbel packets witness day.pcap --interface lo --dir r1
try umbel packets witness day.pcap --dir r1 --slice 0s
try umbel packets witness day.pcap --dir r1 --slice 1h --keep 1m
try umbel packets witness day.pcap --dir r1 --fpr 0.5
try umbel packets witness day.pcap --dir r1 --capacity 10
try umbel packets witness day.pcap --dir 'a b'
try umbel packets witness day.pcap --dir a/b/c
try umbel packets witness day.pcap --dir r1 --user nobody
# Only 40 bytes of each packet were captured.
{ head -c 24 one.pcap; printf '\0\0\0\0\0\0\0\0\050\0\0\0\144\0\0\0'; tail -c +41 one.pcap | head -c 40; } > short.pcap
try umbel packets witness short.pcap --dir short

# A process that is killed loses the open slice only.
mkfifo pipe
umbel packets witness - --dir killed --seed 1 --fpr 1e-6 -q < pipe &
exec 5> pipe
cat day.pcap >&5
until [ -e killed/1700000100-000.slice ]; do sleep 0.02; done
{ kill -9 $! && wait $!; } 2> /dev/null
exec 5>&-
umbel packets did killed day.pcap --summary --json
umbel packets witness one.pcap --dir killed -q && ls killed | wc -l
