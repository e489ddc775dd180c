# More keys than the memory allows: trouble, and no file that would err.
seq 20000 | try umbel build --max-memory 8kB -o pipe.umb 2>&1 |
    sed 's/ [0-9]* keys are too many/ N keys are too many/'
ls

# The same with a memory that does not hold any filter.
seq 10 | try umbel build --max-memory 100 -o pipe.umb
seq 10 | refused umbel build --max-memory 0 -o pipe.umb
seq 10 | try umbel build --max-memory much -o pipe.umb
ls
