# Listed keys that still match are told with --quiet, too; none is silence.
seq 1000 >members
seq 1001 3000 >list
umbel build members --never list --bits 6000 -q -o f.umb
umbel build members --never list -q -o f.umb
umbel build members --kind ribbon --never list --bits 1500 -q -o f.umb
umbel build members --kind ribbon --never list -q -o f.umb
