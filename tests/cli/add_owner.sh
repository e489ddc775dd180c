# Root adding to somebody's file leaves it theirs. An ordinary user cannot
# give files away, so there the owner stays by itself.
seq 10 > keys
umbel build -q keys -n 100 -o f.umb
owner=$(id -u):$(id -g)
if [ "$(id -u)" = 0 ] && chown 65534:65534 f.umb 2> /dev/null; then
    owner=65534:65534
fi
try umbel add -q f.umb keys
[ "$(stat -c %u:%g f.umb)" = "$owner" ] && echo same owner
