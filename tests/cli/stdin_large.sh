# The length of a file on standard input is known, so no limit stands in its
# way; a pipe may say anything, and more than 256 MiB is refused. The filter is
# a hole of 2^31 + 512 cells, which costs no disk.
umbel build -q -n 10 -o f.umb < /dev/null
forge poke f.umb 80 0002008000000000
forge poke f.umb 144 0002008000000000
forge poke f.umb 160 4000001000000000
forge seal f.umb
truncate -s 268435712 f.umb
try umbel check --no-checksum f.umb 1
try umbel check --no-checksum - 1 < f.umb
try umbel check --no-checksum - 1 < <(cat f.umb 2> /dev/null)
try umbel check --no-checksum - 1 --max-memory 256MiB < <(cat f.umb 2> /dev/null)
