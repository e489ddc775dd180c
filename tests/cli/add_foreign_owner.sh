# An owner that our user namespace does not know cannot be kept; the keys can be
# added all the same. Needs root and a namespace; silent when all is well, and
# where it cannot be tried.
seq 10 > keys
umbel build -q keys -n 100 -o f.umb
cp "$(realpath "$(command -v umbel)")" umbel
chmod 777 .
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups unshare -r)
if [ "$(id -u)" = 0 ] && "${as_nobody[@]}" true 2> /dev/null; then
    chown 12345:12345 f.umb
    "${as_nobody[@]}" ./umbel add -q f.umb keys
fi
umbel check -c f.umb -f keys
