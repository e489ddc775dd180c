# --quiet still reports listed keys that match; if none does, it prints nothing.
seq 1000 >members
seq 1001 3000 >list
umbel build members --never list --bits 6000 -q -o f.umb
umbel build members --never list -q -o f.umb
umbel build members --kind ribbon --never list --bits 1500 -q -o f.umb
umbel build members --kind ribbon --never list -q -o f.umb
