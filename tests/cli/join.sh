# Joins over a pipe, either way round, are equal to join(1).
far() {
    echo "exec:umbel join --stdio $*"
}
seq 5000 | awk '{print "k" $1 % 3000 "\t" $1}' > rows
seq 2990 3050 | sed 's/^/k/' > few
echo nokey >> few
join -t "$(printf '\t')" <(sort rows) <(sort few) | sort > truth
awk 'NR == FNR {b[$1]; next} !($1 in b)' few rows > others
wc -l < truth
for way in "rows few" "rows|$(far few)" "$(far rows)|few"; do
    case $way in *'|'*) a=${way%|*} b=${way#*|} ;; *) a=rows b=few ;; esac
    umbel join "$a" "$b" --field 1 2> /dev/null | sort | cmp - truth && echo "equal to join"
    umbel join "$a" "$b" --field 1 --anti 2> /dev/null | cmp - others && echo "the others"
    umbel join "$a" "$b" --field 1 --json | grep -o '"rows": [0-9]*, "matches": [0-9]*'
    umbel join "$a" "$b" --field 1 --estimate --json |
        sed 's/.*"matches_low": \([0-9]*\), "matches_high": \([0-9]*\).*/\1 \2/' | {
        read -r low high
        # Twice as wide, which is five sigma: the secret is random.
        wide=$(((high - low) / 2 + 1)) n=$(wc -l < truth)
        [ $((low - wide)) -le "$n" ] && [ $((high + wide)) -ge "$n" ] &&
            echo "within the interval"
    }
done
echo "--- formats"
printf 'name,id\n"x, y",7\nz,8\n' > t.csv
echo 7 > ids
umbel join t.csv ids --csv --column id -q
umbel join t.csv "$(far ids)" --csv --column id 2> /dev/null
umbel join "$(far t.csv)" ids --csv --column 2 2> /dev/null
printf '{"id": "7", "n": 1}\n{"id": "9"}\n' > t.json
umbel join "$(far t.json)" ids --json-field id 2> /dev/null
echo AB01 > hex
printf 'ab01\nab02\n' > lower
umbel join lower "$(far hex)" --hex 2> /dev/null
printf 'a\nb\0c\0' > nul
printf 'a\nb\0' > nul2
umbel join -0 nul "$(far nul2)" 2> /dev/null | tr '\0' '@'
echo
: > none
umbel join rows "$(far none)" --field 1 --anti 2> /dev/null | cmp - rows && echo "all of them"
umbel join "$(far none)" few 2> /dev/null
umbel join rows rows --json | grep -o '"matches": [0-9]*'
echo "--- refused"
umbel join - few < rows
umbel join rows
umbel join "$(far rows)" "$(far few)"
umbel join rows exec:true
umbel join rows "$(far missing)" 2>&1 | sort
umbel join rows 'exec:echo hello world, hello world'
umbel join rows few --field 1 --field 9
