# What is refused, and the words for it.
lab=$(dirname "$(readlink -f "$BASH_ENV")")/../lab
python3 "$lab/truth.py" > day1.json
umbel stopset learn day1.json -q -o day1.table
umbel stopset build day1.table -q -o red.list
umbel stopset build day1.table --set global --form bloom --bytes 700 -q -o global.umb

try umbel stopset
try umbel stopset lern
try umbel stopset learn nothing -o x.table
echo 10.0.0.1 > words
try umbel stopset learn words -o x.table
printf '{"type":"trace","dst":"10.0.0.1","hops":[{"a"' > cut.json
try umbel stopset learn cut.json -o x.table
try umbel stopset learn day1.table --prefix 32 -o x.table
# A file without traces leaves the table as it is, also beside others.
cp day1.table good.table
: > empty
printf '{"results":[{"type":"trace","dst":"10.0.0.1"}]}' > wrapped.json
printf '{"type":"ping","dst":"10.0.0.1"}' > ping.json
printf '{"type":"trace","dst":"nowhere"}' > nowhere.json
for file in empty wrapped.json ping.json nowhere.json; do
    try umbel stopset learn day1.json $file -o good.table
done
gzip < ping.json | try umbel stopset learn - -o good.table
printf 'umbel-stopset table 1\nprefix 24 48\ntraces 0 0\n' > none.table
try umbel stopset learn none.table -o good.table
cmp day1.table good.table
try umbel stopset learn day1.json --destinations --prefix 8 -o x.table
try umbel stopset build day1.json -o x.umb
try umbel stopset build day1.table --key hop+destination -o x.umb
try umbel stopset build day1.table --key hop --prefix 16 -o x.umb
try umbel stopset build day1.table --form bloom -o x.umb
try umbel stopset build day1.table --form bloom --bytes 100 -o x.umb
try umbel stopset build day1.table --bytes 100 -o x.umb
try umbel stopset build day1.table --form exact --hashes 3 -o x.umb
try umbel stopset build day1.table --form bloom --fpr 0.1 --bytes 700 -o x.umb
try umbel stopset build day1.table --form exact --fpr 1e-6 --bits 192 -o x.umb
try umbel stopset build day1.table --form exact --fpr 1e-12 -o x.umb
umbel stopset build day1.table --form bloom --bits 4096 --hashes 4 -q -o red.umb
umbel stopset build day1.table --set global --form bloom --bits 4096 --hashes 4 -q -o all.umb
try umbel merge red.umb all.umb -o x.umb
try umbel stopset build day1.table --form bloom --beta 0.5 --bytes 700 -o x.umb
try umbel stopset build day1.table --form bloom --set global --success 0.9 -o x.umb
try umbel stopset build day1.table --compare
try umbel stopset build day1.table --set global --without-passed -o x
try umbel stopset learn global.umb -o x.table
try umbel stopset trace localhost --allow 127.0.0.1
try umbel stopset trace 127.0.0.1 --allow 127.0.0.1 --red day1.table
try umbel stopset replay red.list --on day1.table
try umbel stopset replay words --on day1.json
try umbel stopset replay day1.table --on day1.json
seq 10 | umbel build -q -o numbers.umb
try umbel stopset replay numbers.umb --on day1.json
try umbel stopset replay --red global.umb --on day1.json
try umbel stopset replay red.list --red red.list --on day1.json
try umbel stopset replay red.list --on day1.json --first-hop 0
try umbel stopset replay red.list --on day1.json --first-hop auto
try umbel stopset replay red.list --on /dev/null
mkdir page
echo mine > page/index.html
try umbel stopset report day1.table --on day1.json -o page
ls
