# A key has at most 1 MiB. A longer one is an error that names its line, and so is
# an endless line.
as() { head -c "$1" /dev/zero | tr '\0' a; }
{ echo short; as 1048576; echo; echo behind; } > longest
{ echo short; as 1048577; echo; } > longer
{ echo short; as 3000000; echo; } > endless
{ echo short; as 1048577; } > unended
try umbel build longest -o f.umb
try umbel check -c f.umb -f longest
try umbel build longer -o no.umb
try umbel build endless -o no.umb
try umbel build unended -o no.umb
try umbel build -n 10 -o no.umb < longer
try umbel check f.umb -c -f longer
try umbel verify f.umb --members longer

# The carriage return of a line is none of the key's bytes.
{ as 1048576; printf '\r\n'; } > crlf
try umbel check -c f.umb -f crlf
absent no.umb
