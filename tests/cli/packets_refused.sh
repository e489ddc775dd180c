# What umbel packets refuses, and what to do instead.
tests=$(dirname "$(readlink -f "$BASH_ENV")")/../packets
echo '1 192.0.2.1 198.51.100.7 6 40000 443 1500' | python3 "$tests/capture.py" > one.pcap
gzip -k one.pcap
head -c 20 one.pcap > short.pcap
{ head -c 32 one.pcap; printf '\377\377\377\377\0\0\0\0'; } > lies.pcap
{ head -c 20 one.pcap; printf '\007\0\0\0'; tail -c +25 one.pcap; } > arcnet.pcap

try umbel packets
try umbel packets flow
try umbel packets flows
try umbel packets flows one.pcap --interface lo
try umbel packets flows nothing.pcap
try umbel packets flows one.pcap.gz
try umbel packets flows short.pcap
try umbel packets flows lies.pcap
try umbel packets flows arcnet.pcap
echo text > text.pcap
try umbel packets flows one.pcap text.pcap
try umbel packets flows one.pcap --by port
try umbel packets flows one.pcap --by src/33
try umbel packets flows one.pcap --by 5tuple/24
try umbel packets flows one.pcap --threshold 0
try umbel packets flows one.pcap --threshold 5x
try umbel packets flows one.pcap --interval 60x
try umbel packets flows one.pcap --interval 25h
try umbel packets flows one.pcap --memory 100k
try umbel packets flows one.pcap --http 127.0.0.1:0
try umbel packets flows one.pcap --user nobody
try umbel packets flows --interface nowhere0
try umbel packets flows --interface lo --http 127.0.0.1:0 --interval 0
