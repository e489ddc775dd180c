# Filters whose keys may go by several digests, in every command.
seq 1 3000 > keys
seq 3001 5000 > others
try umbel build keys --groups 3 -n 5000 -o a.umb
try umbel build others --param groups=3 -n 5000 -q -o b.umb
try umbel add a.umb keys
try umbel check -c a.umb -f keys
try umbel info a.umb
try umbel info a.umb b.umb
try umbel merge a.umb b.umb -o c.umb
cat keys others | try umbel check -c c.umb
try umbel merge a.umb b.umb --op and -o d.umb
umbel build others --bits 79360 --hashes 10 -q -o one.umb
try umbel merge a.umb one.umb -o d.umb
absent d.umb
try umbel convert c.umb --fold 5 -o e.umb
cat keys others | try umbel check -c e.umb
seq 1 3000 | try umbel build --groups 2 --fpr 1% -o pipe.umb
try umbel check -c pipe.umb -f keys
seq 1 3000 | try umbel build --groups 2 --fpr 1% -n 3000 -o file.umb
try umbel plan -n 1e6 --groups 2 --addressing classic
try umbel plan -n 1e6 --addressing classic
try umbel plan -n 1e6 --groups 0
try umbel plan -n 1e6 --groups 9
try umbel plan -n 1e6 --groups two
try umbel plan -n 1e6 --kind aging --groups 2
