# The file behind standard output may have no name any more (a temporary file of
# some program): the bytes go there all the same, and nowhere else. As root a
# mistake would replace /dev/stdout for everybody: see harmless.
cp "$(realpath "$(command -v umbel)")" umbel # where nobody can reach it

seq 10 > keys
umbel build -q keys -o want
exec 4<> got
exec 5< got
rm got
harmless ./umbel build -q -o - -n 10 - < keys >&4
echo "status $?"
wc -c <&5
readlink /dev/stdout
