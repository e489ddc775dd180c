# -0: any byte but NUL is part of a key, newlines and carriage returns too.
printf '%s\0' $'two\nlines' $'ends in\r' $'\xff\xfe\x01' plain > keys
umbel build -q -0 keys -o f.umb
try umbel check -0 -c f.umb -f keys
try umbel check f.umb $'two\nlines'
try umbel check f.umb two
try umbel check f.umb $'ends in\r' | od -An -c
try umbel check f.umb 'ends in'
try umbel check f.umb $'\xff\xfe\x01' | od -An -tx1
try umbel check -0 f.umb -f keys | cmp - keys

# The last record may lack its NUL; empty ones are no keys.
printf 'plain\0\0\0two\nlines' | try umbel check -0 -c f.umb
try umbel verify -0 f.umb --members keys
try umbel add -0 f.umb keys
