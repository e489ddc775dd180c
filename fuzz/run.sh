#!/usr/bin/env bash
# run.sh [-j JOBS] SECONDS|COUNTx [TARGET[=COUNT]...]: runs fuzz targets.
#
# Runs each target (default: all that were built) for SECONDS, or for COUNT
# executions ("2000000x"; TARGET=COUNT for one of them), JOBS of them at a time.
# Prints a table at the end; exits with 1 if a target found something, and names the
# file that reproduces it. New inputs stay in OUT/corpus, crashes in OUT/crashes,
# libFuzzer's output in OUT/logs. Targets are those in build/fuzz, or
# $UMBEL_FUZZ_BUILD, which is also OUT unless $UMBEL_FUZZ_OUT is set.
set -euo pipefail

usage() {
    echo "usage: fuzz/run.sh [-j JOBS] SECONDS|COUNTx [TARGET[=COUNT]...]" >&2
    exit 2
}

jobs=1
if [[ ${1:-} == -j && ${2:-} =~ ^[1-9][0-9]*$ ]]; then
    jobs=$2
    shift 2
fi
[[ ${1:-} =~ ^[0-9]+x?$ ]] || usage
limit=$1
shift
cd "$(dirname "$0")/.."
build=${UMBEL_FUZZ_BUILD:-build/fuzz}
out=${UMBEL_FUZZ_OUT:-$build}

# Every fuzzer that was built is a target: fuzz/CMakeLists.txt has the table.
targets=("$@")
if [[ $# -eq 0 ]]; then
    for program in "$build"/fuzz/fuzz_*; do
        name=${program##*/fuzz_}
        [[ -x $program && -d fuzz/corpus/$name ]] && targets+=("$name")
    done
fi
if [[ ${#targets[@]} -eq 0 ]]; then
    echo "no fuzz targets in $build: run make fuzz" >&2
    exit 2
fi
mkdir -p "$out/crashes" "$out/logs"

# A small quarantine and short allocation stacks save a third of the time. Leaks are
# found when the corpus is replayed.
export ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=1:detect_stack_use_after_return=0:${ASAN_OPTIONS:-}

# -entropic=0: counting rare features takes longer than a decoding.
# -timeout: any plan takes milliseconds.
run() {
    local name=${1%=*} bound=-max_total_time=$limit
    [[ $limit == *x ]] && bound=-runs=${limit%x}
    [[ $1 == *=* ]] && bound=-runs=${1#*=}
    mkdir -p "$out/corpus/$name"
    TIMEFORMAT='cpu seconds: %U + %S, seconds: %0R'
    time "$build/fuzz/fuzz_$name" "$bound" -max_len=2048 \
        -timeout=10 -rss_limit_mb=2048 -entropic=0 -detect_leaks=0 \
        -print_final_stats=1 -artifact_prefix="$out/crashes/$name-" \
        "$out/corpus/$name" "fuzz/corpus/$name"
}

# The last value of a figure in the log: "cov: 702" or "stat::x: 702".
last() {
    grep -oE "$1:? +[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

declare -A name_of
found=()

finish_one() {
    local pid status=0
    wait -n -p pid || status=$?
    [[ $status -eq 0 ]] || found+=("${name_of[$pid]}")
}

running=0
for target in "${targets[@]}"; do
    if [[ $running -eq $jobs ]]; then
        finish_one
        running=$((running - 1))
    fi
    name=${target%=*}
    run "$target" >"$out/logs/$name.log" 2>&1 &
    name_of[$!]=$name
    running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
    finish_one
    running=$((running - 1))
done

printf '%-10s %12s %8s %8s %8s\n' target executions edges seconds crashes
sum=0
for target in "${targets[@]}"; do
    log=$out/logs/${target%=*}.log
    n=$(last stat::number_of_executed_units: "$log")
    sum=$((sum + n))
    printf '%-10s %12d %8d %8d %8d\n' "${target%=*}" "$n" "$(last cov "$log")" \
        "$(last ', seconds' "$log")" "$(grep -c 'Test unit written' "$log" || true)"
done
printf '%-10s %12d\n' sum "$sum"
for name in "${found[@]}"; do
    echo "$name found something (log: $out/logs/$name.log)"
    grep -E 'broken promise|SUMMARY|Test unit written' "$out/logs/$name.log" ||
        true
done
[[ ${#found[@]} -eq 0 ]]
