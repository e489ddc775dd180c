# Reproductions have names; values are held against bars; nothing is written
# unless asked for. Few rounds: the full ones are run by tools/test-long.
umbel reproduce --list | sed -n 's/^\([a-z].*[^ ]\)  .*/\1/p' | cut -d' ' -f1
umbel reproduce --list --json | field name | wc -l
absent index.html

# Values as JSON, the same for any number of threads.
umbel reproduce rbf-fig3 --rounds 4 --threads 1 --json > one
umbel reproduce rbf-fig3 --rounds 4 --threads 3 --json | cmp one -
umbel reproduce rbf-fig3 rbf-fig3 --rounds 4 --json | cmp one -
head -n 1 one
umbel reproduce rbf-fig3 --rounds 4 --seed 2 --json | cmp -s one - && echo same
grep -c '"pass": true' one
umbel reproduce rbf-fig3 --rounds 4 | tail -n 1
umbel reproduce rbf-fig3 --rounds 4 -q

# Algorithms of 2006, twice drawn: chi within five sigma of the references.
umbel reproduce rbf-fig6 --rounds 2 --json > six
echo "$?"
grep 'fall of ratio over all' six | field pass

# Counters, ten rounds: the same for any number of threads; what the authors drew
# once can be drawn anew, and is not fitted then.
umbel reproduce spam-table6 --rounds 10 --threads 1 --json > six
echo "$?"
umbel reproduce spam-table6 --rounds 10 --threads 3 --paper-draw --json | cmp six -
grep -c '"fitted": true' six
umbel reproduce spam-table6 --rounds 10 --fresh --json | grep -c '"fitted": true'
umbel reproduce spam-table6 --rounds 10 --fresh | sed -n 3p

# A page with its files; a second run replaces them.
umbel reproduce rbf-fig3 --rounds 1 -o page -q
ls page
umbel reproduce rbf-fig3 --rounds 1 --threads 2 -o again -q
diff -r page again
umbel reproduce rbf-fig3 --rounds 1 -o page -q
diff -r page again
umbel reproduce rbf-fig3 --rounds 1 -o page/ | tail -n 1
umbel reproduce rbf-fig3 --rounds 1 -o 'a page' | tail -n 2
umbel reproduce rbf-fig3 --rounds 1 -o page --json | tail -n 1 | field name
grep -o '<code>.*</code>' page/index.html
