# For sizes with a power of two the cells of DCSO's addressing follow from each
# other: info and plan predict what keys that are not in it meet. (FNV-1 of
# numbers in a row is not quite random: 11 % instead of 10.)
seq 45000 > keys
umbel build -q keys --addressing dcso --bits 1048576 --hashes 10 -o f.umb
umbel info f.umb | grep predicted
umbel plan --capacity 45000 --addressing dcso --bits 1048576 --hashes 10 | grep '^error'
seq 100001 200000 > others
umbel check f.umb -f others | wc -l
try umbel admit f.umb --max-error 0.1%
