#!/usr/bin/env bash
# case-study.sh UMBEL STUDY - papers/rbf-case-study through the program: the
# traces of its synthetic internet are written to files, then learn, build and
# replay give the rates that the study has at 40,000 bits.
set -euo pipefail
umbel=$(realpath "$1")
study=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

"$study" learn.json probe.json
"$umbel" stopset learn learn.json -q -o table
"$umbel" stopset build table -q -o list
"$umbel" stopset build table -q --without-passed -o short-list
for seed in 1 2 3; do
    build=("$umbel" stopset build table -q --bits 40000 --hashes 5 --seed "$seed")
    "${build[@]}" --form bloom -o "bloom-$seed"
    "${build[@]}" --form retouched --method ratio --beta 0.25 -o "ratio-$seed"
    "${build[@]}" --form retouched -o "greedy-$seed"
    "${build[@]}" --form groups -o "groups-$seed"
done
# Rows come in the order of the sets: the lists, then three of each.
"$umbel" stopset replay list short-list bloom-? ratio-? greedy-? groups-? --on probe.json \
    --table table --json |
    awk -F '[:,] *' '
        BEGIN { split("bloom ratio greedy groups", ways, " ") }
        {
            way = NR == 1 ? "list" : NR == 2 ? "without-passed" : ways[int((NR - 3) / 3) + 1]
            for (i = 1; i < NF; i++) {
                name = $i
                gsub(/[{}" ]/, "", name)
                sum[way, name] += $(i + 1)
            }
        }
        function show(way,    n) {
            n = sum[way, "traces"]
            printf "%s %.4f %.4f %.4f %.4f\n", way, sum[way, "genuine"] / n,
                sum[way, "lucky"] / n, sum[way, "short"] / n, sum[way, "collision"] / n
        }
        END { show("list"); show("without-passed"); for (i = 1; i <= 4; i++) show(ways[i]) }' | tee rates

# The list is exact: the study's own numbers. The rest has the study's intervals
# (papers/rbf/case-study/expected.csv), or five standard deviations of 20 hashes
# around its mean, for three.
awk '
    function want(low, x, high, what) {
        if (x < low || x > high) {
            print $1 ": " what " " x ", not " low " to " high
            bad = 1
        }
    }
    $1 == "list" { want(0.7847, $2, 0.7849, "genuine"); want(0, $3, 0, "lucky")
        want(0.0886, $4, 0.0888, "short"); want(0.1264, $5, 0.1266, "collision") }
    $1 == "without-passed" { want(0.79, $2, 0.81, "genuine"); want(0, $4, 0.075, "short") }
    $1 == "bloom" { want(0, $2, 0.35, "genuine"); want(0.62, $4, 1, "short") }
    $1 == "ratio" { want(0.61, $2, 0.70, "genuine") }
    $1 == "greedy" { want(0.73, $2, 0.7848, "genuine"); want(0, $3, 0.02, "lucky") }
    $1 == "groups" { want(0.76, $2, 0.7848, "genuine"); want(0, $3, 0.02, "lucky") }
    END { exit bad || NR != 6 }' rates
