# JSON stays JSON whatever a file is called: control bytes are escaped, and
# bytes that are no UTF-8 do not get in as they are.
seq 10 > keys
for name in $'tab\tand"quote' $'esc\e[31m' $'new\nline'; do
    umbel build keys -o "$name" --json | sed 's/, "keys.*//'
done
umbel build keys -o $'raw\xff' --json | grep -c $'\xff'
umbel add $'raw\xff' keys --json | grep -c $'\xff'
umbel merge $'raw\xff' -o $'raw\xff' --json | grep -c $'\xff'
umbel convert --fold 1 $'raw\xff' -o $'raw\xff' --json | grep -c $'\xff'
umbel keygen -o $'key\xff' --json | grep -c $'\xff' || :
