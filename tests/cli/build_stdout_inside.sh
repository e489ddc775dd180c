# "-o -" writes to the descriptor, as every filter does: what stands before and
# behind in the same file stays there.
seq 10 > keys
{
    echo before
    umbel build -q keys -o -
    echo behind
} > all
head -n 1 all
tail -c 7 all
wc -c < all
