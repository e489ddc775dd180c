# The file keeps its mode, whatever the umask, and a link stays a link.
seq 10 > keys
umbel build -q keys -n 100 -o f.umb
chmod 640 f.umb
umask 077
try umbel add -q f.umb keys
stat -c %a f.umb
ln -s f.umb link.umb
try umbel add -q link.umb keys
readlink link.umb
stat -c %a f.umb
try umbel build -q keys -o f.umb
stat -c %a f.umb
