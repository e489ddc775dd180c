# What umbel packets mark and trace-back refuse, and packets without a mark.
tests=$(dirname "$(readlink -f "$BASH_ENV")")/../packets
echo '1 192.0.2.1 198.51.100.7 17 40000 443 1500' | python3 "$tests/capture.py" > one.pcap
printf 'victim a\na b\n' > links
fixed_secret key 1

try umbel packets mark --queue 1 --router a
try umbel packets mark --queue 1 --router 'a b' --key-file key
try umbel packets mark --queue 1 --router victim --key-file key
try umbel packets mark --queue 65536 --router a --key-file key
try umbel packets mark --queue 1 --router a --key-file nowhere
try umbel packets mark --queue 1 --router a --key-file key --policy loop --reset 4
try umbel packets mark --queue 1 --router a --key-file key --suspicions 3
try umbel packets mark --queue 1 --router a --key-file key --set 16
try umbel packets trace-back one.pcap --topology links
try umbel packets trace-back one.pcap --topology links --key-file key --json
try umbel packets trace-back one.pcap --topology links --key-file key --every --limit 5
for text in 'a b' 'victim' 'a b c' ''; do
    echo "$text" > bad
    try umbel packets trace-back one.pcap --topology bad --key-file key
done

# A packet that router a marked, by hand: plain filter, one cell, ones from the sender.
ones=$(printf 'ff%.0s' $(seq 32))
echo "raw 0000000000000000000000000800 4e00003800070000401100 00 c0000201c6336402 9e240100$ones" |
    tr -d ' ' | sed 's/^raw/raw /' | python3 "$tests/capture.py" > marked.pcap
try umbel packets trace-back marked.pcap --topology links --key-file key --reset 0 --set 1 --json
try umbel packets trace-back marked.pcap --topology links --key-file key --reset 0 --set 1
try umbel packets trace-back marked.pcap --topology links --key-file key
