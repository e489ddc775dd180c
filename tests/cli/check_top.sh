# The keys of a stream with the largest counts.
for i in {1..40}; do for ((j = 0; j < i; j++)); do echo "key$i"; done; done > stream
umbel build stream --kind countmin -n 1000 -q -o c.umb
try umbel check c.umb --top 5 -f stream
# Each key once, wherever it comes; of equal counts the first.
sort -R --random-source=stream stream > mixed
try umbel check c.umb --top 5 -f mixed --threads 3
printf '%s\n' b a c > same
umbel build same --kind counting -q -o s.umb
(cat same same; echo d) | try umbel check s.umb --top 2
try umbel check c.umb --top 3 key7 key9 absent key9 key8 key1
try umbel check c.umb --top 3 --json -f stream
try umbel check c.umb --top 3 --threshold 39 -f stream
try umbel check c.umb --top 1000 -f stream | wc -l
sed 's/^/x /' stream | try umbel check c.umb --top 2 --field 2 --delimiter ' '
try umbel check c.umb --top 3 absent
try umbel check c.umb --top 3 -q -f stream
try umbel check c.umb --top 0 -f stream
try umbel check c.umb --top 3 -c -f stream
# Cells of four bits end at 15.
umbel build stream --kind counting --cell-bits 4 -q -o four.umb 2> /dev/null
try umbel check four.umb --top 2 -f stream
umbel build stream -q -o b.umb
try umbel check b.umb --top 3 -f stream
