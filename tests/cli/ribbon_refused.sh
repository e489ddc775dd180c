# Operations that static filters refuse, and options that exclude each other.
seq 1000 >members
seq 3000 >all
umbel build members --kind ribbon -q -o set.umb
try umbel add set.umb members
try umbel merge set.umb set.umb -o x.umb
try umbel convert set.umb --fold 2 -o x.umb
try umbel check set.umb --values 5
(echo 5; echo 6000; echo 7) >list
try umbel build members --kind ribbon --never list -o x.umb
umbel build members --kind ribbon --never list --allow-members -q -o x.umb
umbel check x.umb 5 6000 7
seq 998 >short
try umbel build members --kind ribbon --universe short -o x.umb
try umbel build short --kind ribbon --universe - -o x.umb
printf 'a\t1\nb\t2\na\t1\n' >table
umbel build table --kind ribbon --value-bits 2 -q -o x.umb && echo fine
printf 'a\t1\nb\t2\na\t3\n' >table
try umbel build table --kind ribbon --value-bits 2 -o x.umb
try umbel build --kind ribbon --value-bits 2 -o x.umb < <(cat table)
try umbel build --kind ribbon --universe short -o x.umb < <(cat members)
try umbel build table --kind ribbon --value-bits 1 -o x.umb
printf 'a\t18446744073709551615\n' >table
try umbel build table --kind ribbon --value-bits 32 -o x.umb
try umbel build members --kind ribbon --value-bits 2 -o x.umb
try umbel build table --kind ribbon --value-bits 33 -o x.umb
try umbel build table --kind ribbon --value-bits 8 --field 2 -o x.umb
try umbel build table --kind ribbon --value-bits 8 --never list -o x.umb
try umbel build members --kind ribbon --bits 100 -o x.umb
try umbel build members --kind ribbon --never list --bits 500 -o x.umb
try umbel build members --kind ribbon --bytes 100 -o x.umb
try umbel build members --kind ribbon --bytes 319 -o x.umb
try umbel build members --kind ribbon --bytes 400 -o x.umb
try umbel build members --kind ribbon --bytes 448 -q -o x.umb
umbel build members --kind ribbon --bits 1088 -q -o x.umb && echo fine
try umbel build members --kind ribbon --never all --allow-members --bytes 330 -o x.umb
try umbel build members --kind ribbon --bytes 448 --fpr 1% -o x.umb
try umbel plan --capacity 1000 --kind ribbon --bytes 400
try umbel build members --kind ribbon --capacity 5000 -o x.umb
try umbel build members --kind ribbon --addressing classic -o x.umb
try umbel build members --kind ribbon --hashes 4 -o x.umb
try umbel build members --kind ribbon --param tail=5 -o x.umb
try umbel build members --kind ribbon --fpr 1e-20 -o x.umb
try umbel build --kind ribbon --threads 1 --max-memory 100kB -o x.umb < <(seq 10000)
try umbel build members --universe all -o x.umb
try umbel build members --value-bits 3 -o x.umb

# A key listed twice counts once, also in messages.
printf '5\n7\n5\n2001\n7\n' >twice
try umbel build members --kind ribbon --never twice -o x.umb
umbel build members -q -o plain.umb
printf '5\n5\n' >one
try umbel retouch plain.umb --members members --never one -o x.umb
try umbel build members --kind tally -o x.umb --param
# More keys of a pipe than are kept without a limit.
try umbel build --kind ribbon -o x.umb < <(seq 16000001)
