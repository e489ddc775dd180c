# Standard input and output may be sockets, which cannot be opened by name
# (inetd, node): "-" means the descriptor.
seq 10 > keys
umbel build -q keys -o f.umb
forge socket umbel info - < f.umb | head -n 1
forge socket umbel build -q keys -o - < /dev/null > g.umb
try cmp f.umb g.umb
forge socket umbel check -c f.umb < keys
forge socket umbel build -q -n 10 -o h.umb < keys
try cmp f.umb h.umb
