# What a plan says is what the build makes.
seq 5000 > keys
for addressing in blocked512 blocked256 classic partitioned universal \
    chunks-md5 blocked128 dcso; do
    umbel plan --capacity 5000 --fpr 1% --addressing $addressing --json > planned
    umbel build keys --fpr 1% --addressing $addressing -o f --json > built
    for name in bits hashes bytes; do
        [ "$(field $name < planned)" = "$(field $name < built)" ] ||
            echo "$addressing: $name"
    done
    [ "$(field bytes < planned)" = "$(wc -c < f)" ] || echo "$addressing: size"
done

# The command that a plan prints makes what it says, for every kind.
tried=0
for kind in bloom counting tally generalized countmin aging ribbon; do
    for question in "-n 5000 --fpr 1%" "--fpr 5% --bytes 20000" \
        "-n 5000 --cells 60000 --seed 4" "-n 5000 --bits 60000 --seed 4"; do
        # shellcheck disable=SC2086
        umbel plan --kind $kind $question --json > planned 2> /dev/null ||
            continue
        command=$(sed -n 's/.*"command": "\([^"]*\)".*/\1/p' planned)
        [ "$command" ] || continue
        rm -f FILE
        eval "${command/KEYS/keys} -q" || echo "$command"
        spare=$(($(field bytes < planned) - $(wc -c < FILE)))
        [ $spare -ge 0 ] && [ $spare -le 64 ] || echo "$kind $question: $spare"
        tried=$((tried + 1))
    done
done
echo "$tried commands"
