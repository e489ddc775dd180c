# Less memory than the program takes: trouble, and no file.
seq 20000 | try umbel build --threads 1 --max-memory 8kB -o pipe.umb
seq 10 | try umbel build --max-memory 100 -o pipe.umb
seq 10 | refused umbel build --max-memory 0 -o pipe.umb
seq 10 | try umbel build --max-memory much -o pipe.umb
ls
