# Hexadecimal keys: the bytes count, not how they are written.
printf '%s\n' 00ff DEADbeef 0a > lower
printf '%s\n' 00FF deadBEEF 0A > upper
umbel build -q --hex lower -o lower.umb
umbel build -q --hex upper -o upper.umb
try cmp lower.umb upper.umb
try umbel check --hex lower.umb -f upper
printf 'DEADBEEF\r\n' | try umbel check --hex lower.umb | od -An -c
printf '\xde\xad\xbe\xef\0' | try umbel check -0 -c lower.umb

# Errors in hexadecimal keys name the file and the line.
printf '00\n123\n' > odd
printf '00\n\n12 4\n' > blank
printf '0x00\n' > prefix
try umbel build --hex odd -o no.umb
try umbel build --hex blank -o no.umb
try umbel build --hex prefix -o no.umb
try umbel build --hex -n 5 -o no.umb < odd
try umbel check --hex lower.umb -f odd
try umbel verify --hex lower.umb --members lower --outside odd
absent no.umb
