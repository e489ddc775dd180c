# The length of a file on standard input is known, so no limit stands in its
# way; a pipe may say anything, and more than 256 MiB is refused. The filter is
# a hole of 2^31 + 512 cells, which costs no disk.
umbel build -q -n 10 -o f.umb < /dev/null
forge claim f.umb cells $(((1 << 31) + 512))
truncate -s $((64 + (1 << 28) + 64)) f.umb
try umbel check --no-checksum f.umb 1
try umbel check --no-checksum - 1 < f.umb
try umbel check --no-checksum - 1 < <(cat f.umb 2> /dev/null)
try umbel check --no-checksum - 1 --max-memory 256MiB < <(cat f.umb 2> /dev/null)
