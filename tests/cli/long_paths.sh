# However long a path is, the message ends with what is wrong.
dir=$(printf 'd%.0s' {1..200})
mkdir -p "$dir/$dir"
seq 10 > keys
echo hello > "$dir/$dir/text"
umbel info "$dir/$dir/missing" 2>&1 | grep -c 'No such file or directory$'
umbel info "$dir/$dir/text" 2>&1 | grep -c 'not an umbel file'
umbel build keys "$dir/$dir/missing" -o f 2>&1 | grep -c 'No such file'
umbel build keys -o "$dir/$dir/missing/f" 2>&1 | grep -c 'No such file'
umbel build --hex "$dir/$dir/text" -o f 2>&1 | grep -c 'line 1: '
umbel build -q keys -o "$dir/$dir/a"
umbel build -q keys --seed 1 -o "$dir/$dir/b"
umbel merge "$dir/$dir/a" "$dir/$dir/b" -o f 2>&1 | grep -c 'differ in seed'
umbel build keys -q -o "$dir/$dir/$dir/$dir/$(printf 'd%.0s' {1..5000})" 2>&1 |
    grep -c 'too long'
