# Heavy flows of small captures: every key, interval, form and summary.
tests=$(dirname "$(readlink -f "$BASH_ENV")")/../packets
capture() { python3 "$tests/capture.py" "$@"; }
capture > day.pcap <<'END'
1700000000 192.0.2.1 198.51.100.7 6 40000 443 1500 100
1700000001.5 192.0.2.1 198.51.100.7 6 40000 443 60 3
1700000010 192.0.2.2 198.51.100.7 17 5353 53 100 5
1700000070 2001:db8::1 2001:db8::2 6 40000 443 1400 50
1700000069 192.0.2.2 198.51.100.8 17 5353 53 100 1
1700000200 192.0.2.9 198.51.100.7 6 40000 443 1500 10
END

try umbel packets flows day.pcap --threshold 10kB
try umbel packets flows day.pcap --threshold 10kB --json
try umbel packets flows day.pcap --threshold 10kB --interval 0 --csv
for by in src dst src/24 dst/24 src/0/32; do
    try umbel packets flows day.pcap --by $by --threshold 5p --interval 0 --json | grep key
done
try umbel packets flows day.pcap day.pcap --threshold 20000B --interval 5m --json
umbel packets flows - --interval 0 --threshold 150000B --json < day.pcap
umbel packets flows day.pcap -q --csv

# Intervals that are fractions of a second.
umbel packets flows day.pcap --interval 500ms --threshold 150B --json | head -n 3

# A command for each row.
umbel packets flows day.pcap --threshold 60kB -q --exec 'echo "$UMBEL_FLOW_KEY: $UMBEL_FLOW_BYTES, $UMBEL_FLOW_PACKETS, $UMBEL_FLOW_START" >> rows'
sort rows

# What the writer lost, what is not IP, and a capture that was cut.
{ sed 1q <<< '5 192.0.2.1 198.51.100.7 6 1 2 100'; echo raw 0000000000000000000000000806; echo drops 12; } |
    capture --ng > drops.pcapng
try umbel packets flows drops.pcapng --threshold 100B
head -c 1000 day.pcap > cut.pcap
try umbel packets flows cut.pcap --json

# The memory is what was given; a table that is too small is reported.
for i in $(seq 4000); do echo "1 192.0.2.1 198.51.100.7 17 $i 53 100 1"; done | capture > many.pcap
umbel packets flows many.pcap --threshold 100B --json | tail -n 1
umbel packets flows many.pcap --threshold 100B --json --memory 131072 | tail -n 1 |
    sed 's/"unnamed": 3[0-9]*/"unnamed": 3.../'
