# Exit codes as grep: 0 some match, 1 none, 2 trouble.
seq 10 > keys
umbel build -q keys -o f.umb
printf '%s\n' 1 x 2 y > asked

try umbel check f.umb 1 x 2 y
try umbel check f.umb x y
try umbel check missing.umb 1
try umbel check

try umbel check f.umb -f asked
try umbel check f.umb < asked
try umbel check f.umb - < asked
try umbel check f.umb -f - < asked
try umbel check f.umb -v -f asked
try umbel check f.umb -c -f asked
try umbel check f.umb -cv -f asked
try umbel check f.umb -c x
try umbel check f.umb -cv 1
try umbel check f.umb -q 1
try umbel check f.umb -q x
try umbel check f.umb -qv 1
try umbel check f.umb -qcv x

# A lone - is standard input; beside others it is a key.
try umbel check f.umb - 1 < asked

# No key at all: none matches.
try umbel check f.umb -f /dev/null
try umbel check f.umb -c -f /dev/null

# Keys that look like options.
try umbel check f.umb -- -v --json 1
