# What a first session shows: no option but where the filter goes.
seq 1000 > keys
try umbel build keys -o keys.umb
try umbel build --json keys -o keys.umb
try umbel build -q keys -o keys.umb

# Two lists, a key in both: it is read twice and new once.
seq 1000 1009 > extra
try umbel build keys extra -o both.umb

# Without -o nothing is built.
try umbel build keys
