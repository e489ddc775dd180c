# Every claim of papers/COVERAGE.md is followed; one that leads nowhere is a line,
# and the exit code is 1. A small tree of our own; tests/tree/papers checks the real one.
mkdir -p papers tests/cli include/umbel docs
echo 'umbel check f --unless g; umbel retouch --method ratio' > tests/cli/x.sh
echo 'int umbel_thing(int);' > include/umbel/thing.h
printf '# A page\n## Two words, here\n' > docs/PAGE.md
head='| item | status | where | remark |
|---|---|---|---|'
all='| studies | parts | `rbf-fig3` to `survey-geographic` | to write: nothing |'

cat > papers/COVERAGE.md <<EOF
## A paper

Numbered: Fig. 1 to 3, Table I to IV, equation 1, section 2.1 to 2.2

$head
| Fig. 1 and 3, equation 1, section 2.1 | shipped | \`umbel check --unless FILE\`, \`tests/cli/x.sh\` | |
| Fig. 2, Tables II to IV | study | \`spam-table1\` | the paper's numbers |
| Table I, section 2.2 | study | \`attacks\` | only our numbers |
| a drawing | no | - | no numbers: \`docs/PAGE.md#two-words-here\` |
$all
EOF
try umbel reproduce --coverage
try umbel reproduce --coverage --json
try umbel reproduce --coverage -q

# Every way to be wrong.
cat > papers/COVERAGE.md <<EOF
## A paper

Numbered: Fig. 1 to 3, Table I to IX, section 2.1

$head
| no such study, Fig. 1 | study | \`rbf-fig99\` | the paper's numbers |
| no such command | parts | \`umbel chek\` | to write: all |
| no such option | parts | \`umbel check --unles FILE\` | to write: all |
| part of an option | parts | \`umbel convert --fol\` | to write: all |
| no such kind | parts | \`umbel build --kind blom\` | to write: all |
| no such method | parts | \`umbel retouch --method\` | to write: all |
| no such function | parts | \`umbel_thin\` | to write: all |
| no such file | parts | \`tests/cli/y.sh\` | to write: all |
| outside | parts | \`tests/../../../etc/passwd\` | to write: all |
| no such heading | parts | \`docs/PAGE.md#two-words\` | to write: all |
| a shell's words | parts | \`umbel ;touch bad\` | to write: all |
| in the remark | no | - | as \`rbf-fig98\` |
| a test that does not run it | shipped | \`umbel check --also FILE\`, \`tests/cli/x.sh\` | |
| one of two | shipped | \`umbel check --unless FILE\`, \`umbel_thing\`, \`tests/cli/x.sh\` | |
| without a test | shipped | \`umbel check\` | |
| without a command | shipped | \`tests/cli/x.sh\` | |
| a study of ours | study | \`attacks\` | the paper's numbers |
| a study with the paper's | study | \`spam-table1\` | only our numbers |
| a study that says nothing | study | \`spam-table1\` | holds |
| a study without one | study | \`umbel check\` | only our numbers |
| nothing to write | parts | \`umbel check\` | nearly done |
| no reason | no | - | |
| no, but somewhere | no | \`umbel check\` | a reason |
| nowhere | parts | - | to write: all |
| no status | done | \`umbel check\` | |
| three cells | no | - |
| open | no | - | a \`backtick |
| Fig. 5, Table VI to VIII, section 2.1 | no | - | drawings |
$all
EOF
try umbel reproduce --coverage
absent bad
sed -i '/to .survey-geographic/d' papers/COVERAGE.md
umbel reproduce --coverage -q | grep -c 'no row names this study'

# Only in a source tree.
rm -r papers
try umbel reproduce --coverage
try umbel reproduce --coverage rbf-fig3
try umbel reproduce --coverage --seed 1
