# Cases have names; a name that is none is refused. Times are not for tests.
umbel bench --list | grep -c -- '-.*-'
umbel bench --list --json | field case | cmp - <(umbel bench --list)
try umbel bench no-such-case
try umbel bench --list no-such-case
try umbel bench blocked256-query-batch --rounds 0 -q
umbel bench blocked512-query-batch --rounds 1 | awk 'NR == 1 { print (NF > 3) }
    NR > 1 && $1 == "blocked512-query-batch" { print $2, ($3 > 0), $4 }'
umbel bench blocked256-add-batch --rounds 1 --json | field case
umbel bench shared-query-batch --rounds 1 --json | field times_one_thread
umbel bench shared-add-two --rounds 1 | awk '/^shared-add-two/ { print ($9 ~ /^[0-9.]+$/) }'
