#!/usr/bin/env bash
# truths.sh UMBEL - numbers that follow from the topology alone, and those of
# real traces: a red set by each key, before and after two links are cut, and
# Doubletree, one monitor after the other.
set -euo pipefail
umbel=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0

# expect WANT REPLAY-ARGUMENT...: a line for each set: what has these names, then
# nodes and links missed in percent.
all="genuine short collision never probes probes_full destination_probes"
names=$all
expect() {
    local want=$1 got
    shift
    got=$("$umbel" stopset replay "$@" --json | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(*[r[k] for k in sys.argv[1].split()],
          *["%.1f" % (100 * r[k]) for k in ("nodes_missed", "links_missed")])' "$names")
    [ "$got" = "$want" ] && return
    failed=1
    echo "replay $*: $got"
    echo "should be: $want"
}

lab=(--routers 100 --monitors 10 --dests 50 --per-dest 20)
cut=(--cut "r0,r1" --cut "r1,r4")
"$here/../lab/truth.py" "${lab[@]}" >stubs
"$here/../lab/truth.py" "${lab[@]}" "${cut[@]}" >stubs.cut
"$here/../lab/truth.py" "${lab[@]}" --stubs 0 >flat
"$here/../lab/truth.py" "${lab[@]}" --stubs 0 "${cut[@]}" >flat.cut
for t in stubs flat; do
    "$umbel" stopset learn "$t" --destinations -q -o "$t.table"
    for key in hop hop+prefix hop+destination; do
        "$umbel" stopset build "$t.table" --key "$key" -q -o "$t.$key"
    done
done
grep -h ^members flat.hop flat.hop+prefix flat.hop+destination | paste -s -d ' ' |
    grep -qx 'members 79 members 111 members 2220' || failed=1

all_stop="10000 0 0 0 62840 72840 0 0.0 0.0"
after="10000 0 0 0 64260 74260 0 0.0 0.0"
expect "$(printf '%s\n' "$all_stop" "$all_stop" "$all_stop")" \
    stubs.hop stubs.hop+prefix stubs.hop+destination --on stubs
expect "$(printf '%s\n' "$after" "$after" "$after")" \
    stubs.hop stubs.hop+prefix stubs.hop+destination --on stubs.cut
expect "1240 8760 0 0 21140 62840 0 58.1 76.4
10000 0 0 0 52840 62840 0 0.0 0.0
10000 0 0 0 52840 62840 0 0.0 0.0" \
    flat.hop flat.hop+prefix flat.hop+destination --on flat
expect "1560 8440 0 0 23780 64260 0 57.9 74.5
9960 0 40 0 54300 64260 40 0.0 0.0
9960 0 40 0 54300 64260 40 0.0 0.0" \
    flat.hop flat.hop+prefix flat.hop+destination --on flat.cut

# Sets that five monitors learned, on the traces of the other five: an exact set
# stops none of them short, though it does not know most of their nodes.
python3 - flat <<'END'
import json, sys
lines = open(sys.argv[1]).readlines()
monitors = sorted({json.loads(line)["src"] for line in lines})
files = [open("learned", "w"), open("new", "w")]
for line in lines:
    files[monitors.index(json.loads(line)["src"]) >= 5].write(line)
END
"$umbel" stopset learn learned -q -o learned.table
"$umbel" stopset build learned.table --key hop+prefix -q -o learned.list
"$umbel" stopset build learned.table --key hop+prefix --form exact -q -o learned.exact
names="genuine lucky short unlearned unlearned_success unlearned_short"
expect "4820 0 0 5000 4820 0 0.0 0.0
4820 0 0 5000 4820 0 0.0 0.0" learned.list learned.exact --on new --table learned.table
names=$all

# Doubletree, with the red set: 0.285, 0.284, 0.290 and 0.304 of all probes.
tree() { # FIRST WANT
    expect "$2" --doubletree --local --first-hop "$1" --red stubs.hop --on stubs
}
names="probes probes_full destination_probes"
tree 3 "20742 72840 140 0.0 0.0"
tree 4 "20663 72840 660 0.0 0.0"
tree 5 "21105 72840 1560 0.0 0.0"
tree 6 "22147 72840 4600 0.0 0.0"
names=$all

# RIPE Atlas, first and second trace of each anchor.
python3 - "$here/../../data/traces/atlas-mesh.json.gz" <<'END'
import gzip, json, sys
seen, files = {}, [open("atlas.1", "w"), open("atlas.2", "w")]
lines = gzip.open(sys.argv[1], "rt").readlines()
for line in sorted(lines, key=lambda l: json.loads(l)["timestamp"]):
    probe = json.loads(line)["prb_id"]
    files[seen.setdefault(probe, 0)].write(line)
    seen[probe] += 1
END
"$umbel" stopset learn atlas.1 -q -o atlas.table
"$umbel" stopset build atlas.table -q -o atlas.red
grep -qx 'members 19' atlas.red || failed=1
expect "422 1 37 1 3783 4211 37 0.0 0.0" atlas.red --on atlas.2
exit "$failed"
