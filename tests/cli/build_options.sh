# Options that the chosen kind does not use are refused, not ignored.
seq 100 > keys
seq 200 300 > others
bad() {
    try umbel build keys -o no.umb "$@"
}
bad --times 2
bad --amount-field 2
bad --kind aging --never others
bad --kind counting --never others
bad --kind counting --universe others
bad --bytes 1000
bad --universe others
bad --value-bits 3
bad --kind ribbon --capacity 1000
bad --kind ribbon --times 2
bad --kind ribbon --bits 4000 --fpr 1%
bad --kind ribbon --bytes 1000 --fpr 1%
bad --kind ribbon --bytes 1000 --bits 4000
bad --kind ribbon --value-bits 3 --bytes 1000
bad --kind ribbon --value-bits 3 --universe others
bad --weights
bad --allow-members
bad --kind nothing --never others

# Less memory than the program takes; how much that is depends on the threads.
bad --threads 1 --max-memory 1MB
bad --threads 1 --kind ribbon --max-memory 1MB
seq 10 | try umbel build --threads 1 -n 10 --max-memory 1MB -o no.umb
seq 10 | try umbel build --threads 1 --bits 1000 --max-memory 1MB -o no.umb
bad --never others --max-memory 100MB
bad --kind ribbon --universe others --max-memory 100MB
bad --kind scalable --max-memory 100MB
bad --threads 1 --addressing classic --bits 1e9 --max-memory 100MB
bad --threads 1 --kind counting --cells 1e9 --coded --max-memory 100MB

# Names of earlier versions.
bad --kind ribbon --values 3
bad --keys 100
bad --memory 1MB
bad --setting depth=3
absent no.umb

# With a list, the size and the error of other keys are both free.
try umbel build keys --kind ribbon --never others --bytes 1000 --fpr 10% -q -o f.umb
