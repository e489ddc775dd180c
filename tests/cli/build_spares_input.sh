# A filter written over its own list of keys would destroy the list.
seq 10 > keys
refused umbel build -q keys -o keys
wc -l < keys
ln -s keys link
refused umbel build -q keys -o link
wc -l < keys
