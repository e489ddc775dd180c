# Two filters of one shape: how much they share, from the cells alone.
seq 1 2000 > a
seq 1001 3000 > b
umbel build -q a -n 3000 -o a.umb
umbel build -q b -n 3000 -o b.umb
try umbel info a.umb b.umb
try umbel info --json a.umb b.umb
try umbel info a.umb a.umb | head -n 1
try umbel info a.umb missing.umb
try umbel info missing.umb b.umb
