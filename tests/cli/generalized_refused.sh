# What a generalized filter cannot be, and what to do instead.
seq 9 > keys
umbel build keys --kind generalized --bits 4096 -q -o f.umb
bad() {
    try umbel "$@" 2>&1
}
gen=(--kind generalized -o x.umb)
bad build keys "${gen[@]}" --bits 4096 --reset 33
bad build keys "${gen[@]}" --bits 4096 --set 33
bad build keys "${gen[@]}" --bits 4096 --reset 0 --set 0
bad build keys "${gen[@]}" --bits 5 --reset 4 --set 4 --addressing classic
bad build keys "${gen[@]}" --bits 4096 --hashes 8
bad build keys "${gen[@]}" --bits 4096 --fill 1.5
bad build keys "${gen[@]}" --bits 4096 --fill -0.1
bad build keys "${gen[@]}" --bits 4096 --fill half
bad build keys "${gen[@]}" --bits 4096 --set four
bad build keys "${gen[@]}" --bits 4096 --set =4
bad build keys "${gen[@]}" --bits 4096 --addressing partitioned
bad build keys "${gen[@]}" --bits 4096 --addressing universal
bad build keys "${gen[@]}" --bits 4096 --addressing chunks-md5
bad build keys --reset 2 --bits 4096 -o x.umb
bad build keys --fill 0.5 --bits 4096 -o x.umb
cat keys | bad build "${gen[@]}"
bad merge f.umb f.umb -o x.umb
bad convert f.umb --fold 2 -o x.umb
absent x.umb
bad plan --kind generalized --fp-bound 0.1
bad plan --kind generalized --fn-bound 0.1
bad plan --fp-bound 0.1 --fn-bound 0.1
bad plan --kind generalized --fp-bound 0 --fn-bound 0.1
bad plan --kind generalized --fp-bound 0.1 --fn-bound 2
bad plan --kind generalized --fp-bound 1e-30 --fn-bound 0.1
bad plan --kind generalized --fp-bound 0.1 --fn-bound 0.1 --bits 100
bad plan --kind generalized --fp-bound 1e-6 --fn-bound 1e-6 --capacity 1e15
bad plan --kind generalized --fp-bound 1e-6 --fn-bound 1e-6 --capacity 1e15 --json
umbel check f.umb 9
