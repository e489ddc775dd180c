# The bill, and what more members would buy. Times differ, so they are cut.
seq 2000 > members
seq 10001 60000 > others
umbel build -q members -o f.umb --addressing classic --fpr 0.01
umbel check f.umb -f others > never

bill() {
    try umbel retouch f.umb --members members "$@" > said
    local status=$?
    sed -E 's/^(seconds +).*/\1.../; s/("seconds": )[^,]*/\1.../' said
    return $status
}

# One percent by default: keys are left, and nobody said that they may be.
bill --never never -o r.umb
try umbel verify r.umb --members members --outside never

# A budget that was asked for is no failure.
bill --never never --max-fn 2% -o r.umb
bill --never never --cost 0.2 -o r.umb --quiet

# Everything, from a list most of which does not match.
bill --never others --all -o r.umb --lost lost
wc -l < lost
umbel verify r.umb --members members --json | field false_negatives
umbel check r.umb -f lost -c
umbel check r.umb -f never -c
umbel info r.umb --json | field known_false_negatives

# For programs.
bill --never never --all --dry-run --json
bill --never never --max-fn 0 --dry-run --json

# What it means elsewhere.
try umbel info r.umb | tail -n 1
try umbel merge r.umb f.umb -o merged.umb
try umbel convert r.umb --fold 1 -o folded.umb
try umbel convert r.umb --fpr 0.1 -o folded.umb
try umbel verify r.umb --members others -q
try umbel add r.umb lost

# A file of another format cannot admit what it denies.
umbel build members --addressing dcso --fpr 2% -q -o d.umb
umbel check d.umb -f others > never
umbel retouch d.umb --members members --never never --all -q -o d.umb
try umbel convert d.umb --to dcso -o d.bloom
