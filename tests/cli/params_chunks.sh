# chunks-md5 cuts 128 bits into k equal chunks: only divisors of 128, and no more
# cells than a chunk can tell apart.
seq 10 > keys
build() { try umbel build keys --addressing chunks-md5 -o f.umb "$@"; }
build --hashes 8 --bits 65536 -q
build --hashes 8 --bits 65537
build --hashes 16 --bits 257
refused umbel build keys --addressing chunks-md5 -o f.umb --hashes 5
refused umbel build keys --addressing chunks-md5 -o f.umb --hashes 5 --bits 999
build --hashes 64 --bits 5
build --hashes 16 -n 1000
