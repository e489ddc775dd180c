# A file given as a key is checked as one, and said to be a file.
seq 100 > list
umbel build list -q -o f.umb
try umbel check f.umb list
try umbel check f.umb 7 list f.umb
try umbel check f.umb -v list
try umbel check f.umb list -q
printf '%s\n' 00ff beef > digits
umbel build digits --hex -q -o h.umb
try umbel check h.umb list
mkdir directory
try umbel check f.umb directory absent
# A key that matches was meant, even if a file has its name.
touch 7
try umbel check f.umb 7
try umbel check h.umb 00zz
printf '00ff\nbeefee or not beefee\n' > bad
try umbel check h.umb --hex -f bad
