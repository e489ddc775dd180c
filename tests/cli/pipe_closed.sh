# A reader that goes away ends us at once, by SIGPIPE or, when that is ignored,
# with a message; even when the input never ends.
seq 1000000 > keys # more than any pipe holds
umbel build -q keys -o f.umb
umbel check f.umb -f keys | head -n 1
echo "${PIPESTATUS[0]}"
yes 1 | timeout 1000 umbel check f.umb | head -n 1
echo "${PIPESTATUS[1]}"

trap '' PIPE
umbel check f.umb -f keys 2> err | head -n 1
echo "${PIPESTATUS[0]}"
grep -c 'Broken pipe' err
yes 1 2> /dev/null | timeout 1000 umbel check f.umb 2> err | head -n 1
echo "${PIPESTATUS[1]}"
grep -c 'Broken pipe' err
yes 1 2> /dev/null | timeout 1000 umbel check --json f.umb 2> err | head -n 1
echo "${PIPESTATUS[1]}"
grep -c 'Broken pipe' err
