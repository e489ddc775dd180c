# What cannot be retouched, and why.
seq 1000 > members
seq 10001 40000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.02
umbel build -q members -o aging.umb --kind aging
umbel build -q members -o groups.umb --groups 2
: > empty

try umbel retouch f.umb --never others -o r.umb
try umbel retouch f.umb --members members --never others
try umbel retouch f.umb --members members --never others -o r.umb --dry-run
try umbel retouch f.umb --members members --never others --all --max-fn 2% -o r.umb
try umbel retouch f.umb --members members --never others --moves 5 --time 5 -o r.umb
try umbel retouch f.umb --members - --never - -o r.umb
try umbel retouch f.umb --members members --never others --method magic -o r.umb
try umbel retouch f.umb --members members --never others --max-fn 2 -o r.umb
try umbel retouch f.umb --members members --never others --beta 0 -o r.umb
try umbel retouch f.umb --members members --never others --count-over all -o r.umb
try umbel retouch f.umb --members empty --never others -o r.umb
try umbel retouch aging.umb --members members --never others -o r.umb
try umbel retouch groups.umb --members members --never others -o r.umb

# No input is destroyed.
try umbel retouch f.umb --members members --never others -o members
try umbel retouch f.umb --members members --never others -o r.umb --lost others
try umbel retouch f.umb --members members --never others -o r.umb --curve f.umb

# Members among the keys that must not match, with their names.
seq 991 1015 > mixed
try umbel retouch f.umb --members members --never mixed -o r.umb
seq 5 > mixed
try umbel retouch f.umb --members members --never mixed -o r.umb --all --allow-members -q
umbel check r.umb -f mixed -c
rm r.umb

# Members of another filter.
try umbel retouch f.umb --members others --never members -o r.umb
head -n 500 members > half
try umbel retouch f.umb --members half --never others -o r.umb
absent r.umb
try umbel retouch f.umb --members half --never others -o r.umb --force --all -q

# Nothing that must not match: nothing to do.
try umbel retouch f.umb --members members --never empty -o same.umb --json |
    sed 's/, "chi.*//'
cmp f.umb same.umb
