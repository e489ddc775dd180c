# A name as long as the file system takes (255 bytes), however long the name of
# the temporary file beside it would be.
seq 10 > keys
name=$(printf 'n%.0s' {1..255})
umbel build -q keys -o "$name" 2>&1 | sed 's/n\{100,\}/NAME/'
umbel check -c "$name" -f keys
umbel add -q "$name" keys 2>&1 | sed 's/n\{100,\}/NAME/'
find . -type f | sed 's/n\{255\}/NAME/' | sort
