# "-" reads on where the descriptor stands, as with every filter: a line before
# the filter may have been taken by somebody else.
seq 10 > keys
umbel build -q keys -o f.umb
{ echo header; cat f.umb; } > all
{
    read -r line
    echo "$line"
    try umbel info - | head -n 1
} < all
