# Keys and names come from anyone: no byte of theirs that steers a terminal
# reaches it through a message, neither ESC nor the C1 controls.
steers() { grep -c $'[\x01-\x09\x0b-\x1f\x7f]\|\xc2[\x80-\x9f]\|^[^\xc2]*\x9b' || :; }
seq 10 > keys
umbel build -q keys -o f.umb
for bad in $'\e[31m' $'\x9b31m' $'\xc2\x9b31m' $'a\rb' $'\x7f\b\a'; do
    echo "# $(printf %q "$bad")"
    {
        umbel "$bad"
        umbel plan "$bad"
        umbel plan --capacity "$bad"
        umbel build "--$bad"
        umbel build "-$bad"
        umbel build keys -q -o "missing$bad/f"
        umbel build keys -q -o f --kind "$bad"
        umbel build keys -q -o f --addressing "$bad"
        umbel build keys -q -o f --hash "$bad"
        umbel build keys -q -o f --set "$bad"
        umbel build keys -q -o f --param "$bad"
        umbel build keys -q -o f --param "$bad=1"
        umbel build keys -q -o f --delimiter "$bad" --field 1
        umbel build keys -q -o f --key-file "$bad"
        umbel merge --op "$bad" f.umb -o f
        umbel info "$bad"
        umbel check "$bad" 1
        umbel verify f.umb --members "$bad"
        umbel add f.umb "$bad"
        echo "$bad" | umbel build -q --addressing universal -n 5 -o f
        cp f.umb forged
        name=$(printf %s "$bad" | od -An -tx1 | tr -d ' \n')
        forge fields forged "00$(printf %02x $((${#name} / 2)))${name}0c11"
        umbel info forged
    } 2>&1 | steers
done
