# One option, many spellings.
seq 10 > keys
umbel build -q keys -n 20 -o want
for spelling in '-o got -n 20' '-ogot -n20' '--output got --capacity 20' \
    '--output=got --capacity=20' '-qogot -n 20' '-q -q -o got -n 20' \
    '--no-progress -n 20 -o got'; do
    # shellcheck disable=SC2086 # the spelling is meant to be split
    umbel build -q keys $spelling
    try cmp want got
    rm -f got
done
umbel build -q -n 20 -o got -- keys
try cmp want got

# Given twice it is refused, the same or not, by either name.
for spelling in '-n 5 -n 20 -o got' '-n 20 -o no -o got' '-n 20 --capacity 20 -o got'; do
    # shellcheck disable=SC2086 # the spelling is meant to be split
    try umbel build keys $spelling
    absent no
done
try cmp want got

# A file that is called like an option.
cp keys ./-n
try umbel build -q -o got -n 20 -- -n
try cmp want got

# A key that is called like standard input.
echo - | umbel build -q -o dash.umb
try umbel check dash.umb -- -
try umbel check dash.umb - < keys
try umbel check dash.umb -- - 7
try umbel check dash.umb -- < keys

# An option of another command says whose it is.
try umbel build --threshold 3
try umbel info --members list
try umbel keygen --hex
try umbel check --nobody-has-this
