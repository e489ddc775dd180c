# Bits behind the last cell belong to nobody and must be zero, even for those
# who take the payload on trust.
seq 10 > keys
umbel build -q keys --addressing classic --bits 1001 --hashes 3 -o f.umb
try umbel check -c f.umb -f keys
forge poke f.umb $((64 + 125)) 02
try umbel check --no-checksum -c f.umb -f keys
forge poke f.umb $((64 + 125)) 00
forge poke f.umb $((64 + 127)) 80
try umbel check --no-checksum -c f.umb -f keys
