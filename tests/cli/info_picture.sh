# info --svg and --html draw a filter; what they say is checked, not how it looks.
seq 6000 | umbel build -q -n 10000 -o "a<b&.umb"
seq 15000 | umbel build -q -n 10000 -o over.umb 2>/dev/null
seq 6000 | umbel build -q --kind ribbon -o static.umb
seq 600 | umbel build -q --kind counting --addressing classic -n 1000 -o count.umb
texts() {
    python3 - "$1" <<'END'
import sys, xml.etree.ElementTree as tree
for e in tree.parse(sys.argv[1]).iter():
    if e.tag.endswith("}text") and not e.text.replace(".", "").replace("e-", "").isdigit():
        print(e.text)
END
}
for f in "a<b&" over static count; do
    echo "-- $f"
    umbel info -q "$f.umb" --svg p.svg --html p.html
    texts p.svg
    grep -c "<svg" p.html
done
try grep -o "<h1>.*" p.html

# Nothing is drawn, and nothing replaced, where there is nothing to draw.
umbel build -q --kind ribbon -o none.umb /dev/null
cp p.svg before.svg
try umbel info none.umb --svg p.svg
try umbel info count.umb over.umb --svg p.svg
umbel sync -q --init d --name d -n 100
try umbel info d --html p.svg
try umbel info --html count.umb over.umb
try cmp p.svg before.svg
