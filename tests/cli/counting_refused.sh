# What cannot be counted, and amounts that are none.
seq 9 > keys
umbel build keys --kind counting --cells 4096 --hashes 4 -q -o f.umb
umbel build keys --kind counting --cells 4096 --hashes 4 --cell-bits 8 -q -o wide.umb
umbel build keys -q -o bloom.umb
bad() {
    try umbel "$@" 2>&1
}
bad check f.umb --threshold 16 1
bad check f.umb --threshold 0 1
bad check bloom.umb --values 1
bad merge --op add f.umb wide.umb -o x.umb
bad merge --op add bloom.umb bloom.umb -o x.umb
bad merge --op sum f.umb f.umb -o x.umb
bad convert bloom.umb --to bloom -o x.umb
bad convert f.umb --to aging -o x.umb
bad add bloom.umb --times 2 keys
bad add bloom.umb --remove keys
bad add f.umb --times 0 keys
bad add f.umb --times -1 keys
bad add f.umb --times 2 --amount-field 2 keys
bad add f.umb --times 2 --remove keys
bad add f.umb --amount-field 1 keys
bad add f.umb --amount-field 2 keys
for amount in -3 three 1.5 18446744073709551616 ''; do
    printf 'a\t1\nb\t%s\n' "$amount" > amounts
    bad add f.umb --amount-field 2 amounts
done
bad build keys --kind counting --cells 4096 --cell-bits 33 -o x.umb
bad build keys --kind counting --cells 4096 --update best -o x.umb
bad build keys --bits 4096 --update refined -o x.umb
bad build keys --bits 4096 --cell-bits 8 -o x.umb
bad build keys --cells 4096 -o x.umb
bad build keys --kind counting --bits 4096 -o x.umb
bad plan -n 100 --cells 4096
bad build keys --cells 4096 --bits 4096 -o x.umb
absent x.umb
umbel check f.umb --values 1 a b
