# No key is most likely a mistake upstream; --capacity asks for an empty filter.
: > none
printf '\n\r\n\n' > blank
try umbel build none -o f.umb
try umbel build blank -o f.umb
try umbel build --max-memory 50MB -o f.umb < /dev/null
try umbel build none --bits 1000 -o f.umb
refused umbel build --bits 1000 -o f.umb < /dev/null
ls
try umbel build none --capacity 10 -o f.umb
try umbel build --capacity 10 -o f.umb < /dev/null
try umbel check f.umb anything
