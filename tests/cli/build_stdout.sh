# "-o -" writes the same bytes as a file, and the report goes aside.
seq 1000 > keys
umbel build -q keys -o file.umb
try umbel build keys -o - 2> report | cat > piped.umb
try cmp file.umb piped.umb
try cat report

# A filter is read from a pipe under both names.
try umbel info - < <(cat piped.umb) | head -n 3
try umbel info /dev/stdin < <(cat piped.umb) | head -n 3
try umbel info - < piped.umb | head -n 3
try umbel check - 7 < <(cat piped.umb)
