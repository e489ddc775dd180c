# Counts that reached their limit are said to be at least that, and counts are
# merged only in a way that was chosen.
{ seq 1000; for _ in $(seq 40); do echo 7; done; seq 1000; } >events
umbel build events --kind counting -o c.umb | grep -e cells -e Sized
umbel check c.umb --values 7 8
umbel check c.umb --values -f - <<<7
umbel check c.umb --values --json 7 8

# Which way is for the user to say.
try umbel merge c.umb c.umb -o m.umb
try test -e m.umb
umbel merge c.umb c.umb --op max -o m.umb | grep cells
umbel check m.umb --values 8
umbel merge c.umb c.umb --op add -o m.umb | grep cells
umbel check m.umb --values 8
seq 100 >extra
umbel add m.umb extra --times 20 | grep cells

# A limit that nothing reached is not mentioned.
umbel build events --kind counting --cell-bits 8 -o wide.umb | grep -c limit
umbel check wide.umb --values 7

# How large it should have been.
seq 4000 >many
umbel build many -n 100 -o small.umb 2>&1 | grep above
