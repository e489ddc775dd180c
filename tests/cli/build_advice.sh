# Likely mistakes are reported with what to do about them, also with -q.
for i in 1 2 3; do echo $i | sha1sum | cut -c 1-40; done > sha1
cut -c 1-32 sha1 > md5
sed 's/$/1234567890abcdef12345678/' sha1 > sha256
cat sha1 md5 > mixed
for list in sha1 md5 sha256 mixed; do try umbel build $list -q -o f.umb; done
try umbel build sha1 --key-form sha1 --hex -q -o f.umb
try umbel build sha1 --key-form text -q -o f.umb
try umbel build sha1 --fold-case -q -o f.umb

# A delimiter that no line has.
seq 30000 > numbers
try umbel build numbers --field 1 -q -o f.umb
try umbel build numbers --field 1 --delimiter ';' -o f.umb -q
try umbel add f.umb numbers --field 1 -q
printf '30001\tx\n' >> numbers
try umbel build numbers --field 1 -q -o f.umb
try umbel check f.umb -c -f numbers --field 1
printf '7\t2\n' > numbers.tsv
try umbel build numbers --never numbers.tsv --field 1 --allow-members -q -o f.umb

# Names are text unless they are domains.
echo '0.0.0.0 evil.example # x' > hosts
try umbel build hosts --list-format hosts -o f.umb > out
try umbel build hosts --list-format hosts -o f.umb --json > out
try umbel build hosts --list-format hosts -q -o f.umb
try umbel build hosts --list-format hosts --fold-case -o f.umb > out
try umbel build hosts --list-format hosts --key-form domain -o f.umb > out
printf '||a.example^\n||b.example^\n@@||c.example^\n' > rules
try umbel build rules --list-format adblock --key-form domain -q -o f.umb

# Exclusions do not reach below a member.
seq 1000 | sed 's/.*/host&.example/' > popular
(cat popular; echo WWW.evil.example; echo other.example; echo mail.evil.example.) > never
for kind in ribbon bloom; do
    try umbel build hosts --list-format hosts --key-form domain --kind $kind -q -o f.umb
    echo evil.example > domains
    try umbel build domains --key-form domain --never never --kind $kind -q -o f.umb
    echo other.example >> domains
    echo www.other.example | try umbel build domains --key-form domain --never - --kind $kind -q -o f.umb
    try umbel build domains --key-form domain --never popular --kind $kind -q -o f.umb
done
echo 10.0.0.0/8 > networks
echo 10.7.0.0/16 > inside
try umbel build networks --key-form network --never inside --kind ribbon -q -o f.umb
echo www.evil.example > exceptions
umbel build domains --key-form domain -q -o f.umb
umbel build exceptions --key-form domain -q -o unless.umb
try umbel check f.umb --unless unless.umb www.evil.example a.evil.example

# --like needs groups.
seq 100 > list
seq 200 300 > others
umbel build list --kind ribbon -q -o ribbon.umb
try umbel build list --never others --like ribbon.umb -o no.umb
umbel build list -q -o plain.umb
try umbel build list --never others --like plain.umb -o no.umb

# A bad line is shown, and what the list looks like.
printf '0.0.0.0 a\nb c\n' > short
try umbel build short --list-format hosts -o no.umb
printf '0.0.0.0 a ha=ha\n' > odd
try umbel build odd --list-format hosts -o no.umb
printf 'a\n\033[31m%s x\n' "$(seq -s . 40)" > long
try umbel build long --list-format domains -o no.umb
try umbel build hosts --list-format domains -o no.umb
try umbel build hosts --key-form domain -o no.umb
(printf '# hosts\n\n127.0.0.1 localhost\n'; cat hosts) > commented
try umbel build commented --key-form domain -o no.umb
try umbel build rules --key-form domain -o no.umb
printf '# x\na.example\n' > names
try umbel build names --key-form domain -o no.umb
printf 'a.example\nb_c d.example\n' > names
try umbel build names --key-form domain -o no.umb
printf '0.0.0.0 a..b\n' > dots
try umbel build dots --list-format hosts --key-form domain -o no.umb
absent no.umb
exit 0
