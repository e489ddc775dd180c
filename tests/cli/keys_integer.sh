# universal takes decimal integers below its prime, and says which key is none.
for key in x -1 1.5 '' ' 1' 2100000011 99999999999999999999 0x10; do
    printf '1\n%s\n2\n' "$key" |
        try umbel build --addressing universal -n 5 -o f.umb
done
printf '%s\n' 0 1 2100000010 > keys
try umbel build -q --addressing universal keys -o f.umb
try umbel check f.umb 0 1 2100000010
try umbel check f.umb 1 one
try umbel check f.umb 2100000011
