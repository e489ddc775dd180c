# A full disk: exit 2, no file, no temporary file, the old one untouched. Needs a
# small file system of our own; where that is not allowed output_full.sh has to
# do. Nothing is printed when all is well.
inside() {
    mkdir disk
    mount -t tmpfs -o size=64k none disk 2> /dev/null || return 0
    seq 40000 > keys
    umbel build -q keys -o disk/f.umb 2> err && echo 'build: taken'
    grep -q 'disk/f.umb: .*No space left on device' err || cat err
    [ -z "$(ls -A disk)" ] || ls -A disk

    # 36 KiB fit once, but not twice as replacing takes.
    umbel build -q keys -n 20000 -o disk/f.umb || echo 'build: refused'
    cp disk/f.umb before
    umbel add -q disk/f.umb keys 2> err && echo 'add: taken'
    grep -q 'disk/f.umb: .*No space left on device' err || cat err
    cmp disk/f.umb before
    umbel merge -q disk/f.umb -o disk/g.umb 2> err && echo 'merge: taken'
    umbel convert -q disk/f.umb --fold 1 -o disk/g.umb 2> err &&
        echo 'convert: taken'
    [ "$(ls -A disk)" = f.umb ] || ls -A disk

    # Not even room for a key.
    cat /dev/zero > disk/rest 2> /dev/null
    umbel keygen -q -o disk/my.key 2> err && echo 'keygen: taken'
    [ ! -e disk/my.key ] || echo 'keygen: half a file'
}

if [ "${1-}" = inside ]; then
    inside
elif unshare -m true 2> /dev/null; then
    unshare -m bash -u "$0" inside
elif unshare -rm true 2> /dev/null; then
    unshare -rm bash -u "$0" inside
fi
exit 0
