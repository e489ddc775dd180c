#!/usr/bin/env bash
# readers.sh UMBEL DUMP - every trace of RIPE Atlas and every tracelb that we see
# is what Python's json sees; arrays, joined files and our own output are read
# alike. (Warts is compared with sc_warts2json in tests/systems/scamper.)
set -euo pipefail
dump=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
data=$here/../../data/traces
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

"$dump" "$data/atlas-mesh.json.gz" >atlas.ours
"$here/compare.py" atlas.ours "$data/atlas-mesh.json.gz"
# The same as one array, and our own output read again.
gzip -dc "$data/atlas-mesh.json.gz" | sed '1s/^/[/; $!s/$/,/; $s/$/]/' >array
"$dump" array | cmp - atlas.ours
"$dump" atlas.ours | cmp - atlas.ours

# Traces along several paths, in both of scamper's formats. JSON lacks the only
# node of the first, and has the links in another order.
sorted() { tail -n +2 "$1" | sed 's/},{/}\n{/g; s/]}$//' | sort; }
gzip -dc "$data/lab-tracelb.json.gz" >paths.json
"$dump" paths.json >paths.ours
"$here/compare.py" paths.ours paths.json
"$dump" "$data/lab-tracelb.warts.gz" >paths.warts
"$here/compare.py" paths.warts paths.json
cmp <(sorted paths.warts) <(sorted paths.ours)

# Two files joined are two files.
"$dump" "$data/pantrace.warts.gz" >warts.ours
gzip -dc "$data/pantrace.warts.gz" >warts
cat warts warts >twice
"$dump" twice | cmp - <(cat warts.ours warts.ours)
