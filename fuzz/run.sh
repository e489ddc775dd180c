#!/usr/bin/env bash
# run.sh SECONDS [JOBS]: each fuzz target for so long, JOBS of them at a time.
#
# Prints executions and coverage of each; exits 1 when one found something, and
# says which file brings it back. Inputs it found stay in BUILD/corpus, crashes
# in BUILD/crashes. BUILD is build/fuzz, or $UMBEL_FUZZ_BUILD.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || ! $1 =~ ^[0-9]+$ || ! ${2:-1} =~ ^[1-9][0-9]*$ ]]
then
    echo "usage: fuzz/run.sh SECONDS [JOBS]" >&2
    exit 2
fi
seconds=$1
jobs=${2:-1}
cd "$(dirname "$0")/.."
build=${UMBEL_FUZZ_BUILD:-build/fuzz}

# Whatever was built is a target: the table is in fuzz/CMakeLists.txt.
targets=()
for program in "$build"/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    [[ -x $program && -d fuzz/corpus/$name ]] && targets+=("$name")
done
if [[ ${#targets[@]} -eq 0 ]]; then
    echo "no fuzz targets in $build: run make fuzz" >&2
    exit 2
fi

# -entropic=0: counting rare features takes longer than a decoding.
# -timeout: a plan takes milliseconds, whatever is asked.
run() {
    local name=$1
    mkdir -p "$build/corpus/$name" "$build/crashes" "$build/logs"
    "$build/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=2048 \
        -timeout=10 -rss_limit_mb=2048 -entropic=0 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name-" \
        "$build/corpus/$name" "fuzz/corpus/$name" \
        >"$build/logs/$name.log" 2>&1
}

# The log's last word on a number: "cov: 702" or "stat::x: 702".
last() {
    grep -oE "$1:? +[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo '?'
}

report() {
    local name=$1 status=$2 log=$build/logs/$1.log
    printf '%-8s %12s executions  %6s/s  cov %5s  ' "$name" \
        "$(last stat::number_of_executed_units: "$log")" \
        "$(last stat::average_exec_per_sec: "$log")" "$(last cov "$log")"
    if [[ $status -eq 0 ]]; then
        echo "nothing found"
    else
        echo "FOUND (log: $log)"
        grep -E 'broken promise|SUMMARY|Test unit written' "$log" || true
    fi
}

declare -A name_of
found=0

finish_one() {
    local pid status=0
    wait -n -p pid || status=$?
    report "${name_of[$pid]}" "$status"
    [[ $status -eq 0 ]] || found=1
}

running=0
for name in "${targets[@]}"; do
    if [[ $running -eq $jobs ]]; then
        finish_one
        running=$((running - 1))
    fi
    run "$name" &
    name_of[$!]=$name
    running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
    finish_one
    running=$((running - 1))
done
exit "$found"
