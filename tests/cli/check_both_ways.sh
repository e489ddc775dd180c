# Two places to take keys from are a mistake, not a choice to make in silence.
seq 10 > keys
umbel build -q keys -o f.umb
try umbel check f.umb 1 -f keys
try umbel check f.umb --field 2 31

# Filter and keys cannot both come from standard input.
refused umbel check - < f.umb
refused umbel verify - --members - < f.umb
refused umbel verify f.umb --members - --outside - < keys
refused umbel info - - < f.umb
refused umbel merge - - -o f2.umb < f.umb

# -f given again adds to the list, as with grep.
seq 11 20 > extra
umbel build -q keys extra -o all.umb
try umbel check -c all.umb -f keys -f extra
