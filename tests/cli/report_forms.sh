# Text and JSON of every command come from one list: each value of the JSON is
# a line of the text, an interval is one line, a list has a line per item, and
# so has each note.

# Prints how many lines an object makes.
cat > count.awk <<'END'
function flush() {
    if (name != "" && name !~ /(^|_)(low|high)$/) n += items
}
{
    n = 0; depth = 0; inside = 0; name = ""; word = ""
    for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (inside) {
            if (c == "\\") i++
            else if (c == "\"") inside = 0
            else word = word c
        } else if (c == "\"") {
            inside = 1; word = ""
            if (depth == 2) items++
        } else if (c == "{" || c == "[") {
            depth++
            if (c == "[") items = 0
        } else if (c == "}" || c == "]") {
            depth--
        } else if (c == ":" && depth == 1) {
            flush(); name = word; items = 1
        }
    }
    flush()
    print n
}
END

# both NAME COMMAND...: @ in an argument is replaced, so that files are new.
both() {
    local name=$1 lines said
    shift
    umbel "${@//@/t}" > text || echo "$name: exit code $?"
    umbel "${@//@/j}" --json > json || echo "$name, JSON: exit code $?"
    lines=$(wc -l < text)
    said=$(awk -f count.awk json)
    [ "$lines" = "$said" ] || {
        echo "$name: $lines lines of text, $said in JSON"
        cat text json
    }
    umbel "${@//@/q}" --quiet > quiet || echo "$name, quiet: exit code $?"
    [ -s quiet ] && echo "$name prints with --quiet"
    echo "$name"
}

seq 1 1000 > keys
seq 501 1500 > other
seq 2001 9000 > never
awk '{ print $1 "\t" 3 }' keys > counts
both "plan" plan -n 1000
both "plan --clear" plan -n 1000 --clear 10
both "plan --wire" plan -n 1000 --wire 1500
both "plan --counts" plan --kind counting --threshold 2 --counts counts
both "plan --fp-bound" plan --kind generalized --fp-bound 1% --fn-bound 10% -n 5
both "build" build keys -n 2000 -o @.umb
both "build --never" build keys --never never --groups 2 -o @g.umb
both "build, ribbon" build keys --kind ribbon --never never -o @r.umb
umbel build keys -n 2000 -q -o a.umb
umbel build other -n 2000 -q -o b.umb
umbel build keys --kind counting -q -o c.umb
cp c.umb t.c; cp c.umb j.c; cp c.umb q.c
both "add" add @.umb other
both "where --add" where --index @.idx --add a.umb b.umb
both "add --remove" add @.c --remove keys
both "info" info a.umb
both "info, two" info a.umb b.umb
both "verify" verify a.umb --members keys --outside never
both "admit" admit a.umb --max-error 1%
both "retouch" retouch a.umb --members keys --never never -o @x.umb
both "merge" merge a.umb b.umb -o @m.umb
both "convert" convert a.umb --coded -o @z.umb
both "diff" diff a.umb b.umb -o @.diff
both "patch" patch a.umb t.diff -o @p.umb
both "keygen" keygen -o @.key
both "keygen --sign" keygen --sign -o @s.key
both "publish" publish @site a.umb --sign ts.key
both "pull" pull "file://$PWD/tsite/a" --trust ts.key.pub -o @pulled.umb
