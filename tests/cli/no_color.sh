# Away from a terminal nothing is coloured and no progress shown.
seq 100000 > keys
{
    umbel build keys -o f.umb
    umbel info f.umb
    umbel verify f.umb --members keys --outside keys
    umbel check -c f.umb -f keys
    umbel --help
    umbel build --help
} > out 2>&1
grep $'[\e\r]' out
[ -s out ] && echo said something
