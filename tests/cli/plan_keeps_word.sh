# What a plan says is what the build makes.
seq 5000 > keys
for addressing in blocked512 blocked256 classic partitioned universal \
    chunks-md5 blocked128 dcso; do
    umbel plan --keys 5000 --fpr 1% --addressing $addressing --json > planned
    umbel build keys --fpr 1% --addressing $addressing -o f --json > built
    for name in bits hashes bytes; do
        [ "$(field $name < planned)" = "$(field $name < built)" ] ||
            echo "$addressing: $name"
    done
    [ "$(field bytes < planned)" = "$(wc -c < f)" ] || echo "$addressing: size"
done
