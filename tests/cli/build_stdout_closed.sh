# Nowhere to write to: refused, and nothing is made in its place. As root a
# mistake would replace /dev/stdout for everybody: see harmless.
cp "$(realpath "$(command -v umbel)")" umbel # where nobody can reach it

seq 10 > keys
harmless ./umbel build -q -o - -n 10 - < keys 2> error >&-
echo "status $?"
grep -c . error
readlink /dev/stdout
