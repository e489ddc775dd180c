# UMBEL_CPU limits the instructions, and answers stay the same.
seq 1000 >keys
umbel build keys -o a.umb -q
UMBEL_CPU=plain umbel build keys -o b.umb -q
cmp a.umb b.umb && echo "same files"
umbel check a.umb -f keys >a
UMBEL_CPU=plain umbel check a.umb -f keys | cmp - a && echo "same answers"
UMBEL_CPU=plain umbel info --cpu a.umb | grep 'fast path'
UMBEL_CPU=plain umbel info --cpu --json a.umb | grep -o '"fast_path": *"[a-z0-9]*"'
umbel info a.umb | grep -c 'fast path'
UMBEL_CPU=sse9 umbel info a.umb
echo "exit $?"
UMBEL_CPU="" umbel info a.umb >all && echo "empty is unset"
