# What cannot be run is refused before anything is.
try umbel reproduce
try umbel reproduce no-such-name
try umbel reproduce rbf-fig3 no-such-name
try umbel reproduce --list rbf-fig3
try umbel reproduce rbf-fig3 --rounds 0
try umbel reproduce rbf-fig3 --rounds 1e9
try umbel reproduce rbf-fig3 --rounds many
try umbel reproduce rbf-fig3 --threads 0
try umbel reproduce rbf-fig3 --threads 100000
try umbel reproduce rbf-fig3 --timed --threads 2
try umbel reproduce rbf-fig3 --seed -1
try umbel reproduce rbf-fig3 --fresh
try umbel reproduce spam-table6 --fresh --paper-draw
try umbel reproduce rbf-fig3 --world plain
try umbel reproduce rbf-case-study --world flat

# Directories that are none, that cannot be, or that are somebody else's.
echo mine > file
try umbel reproduce rbf-fig3 --rounds 1 -o file
try umbel reproduce rbf-fig3 --rounds 1 -o no/such/place
mkdir other
echo '<html>mine' > other/index.html
try umbel reproduce rbf-fig3 --rounds 1 -o other
ls other
cat other/index.html file

# A value outside its bar is exit code 1: of one round, seed 125 happens to have
# its minimum at k = 9.
try umbel reproduce rbf-fig3 --rounds 1 --seed 125 | grep FAIL
try umbel reproduce rbf-fig3 --rounds 1 --seed 125 -q
try umbel reproduce rbf-fig3 --rounds 1 > /dev/full
