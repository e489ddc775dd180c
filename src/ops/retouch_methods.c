/*
 * retouch_methods.c - the methods of retouching. A new one is a line here.
 *
 * The first five are those of the paper of 2006; its section III is
 * random-bits. "tracked" is our reading of the paper of 2010, of which we have
 * only the first pages: it says that its algorithms follow more carefully how
 * many false negatives and false positives each step makes.
 */
#include "base/error.h"
#include "ops/retouch.h"

#define CLEARS(rule, follows)                                                  \
    .pick = um_pick_##rule, .tracked = (follows), .run = um_run_paper

static const um_method rows[] = {
    {"greedy", "members by what each removes, then restore (default)",
     .closes = true, .run = um_run_greedy},
    {"anneal", "greedy, then try members at random (--moves, --time)",
     .closes = true, .run = um_run_anneal},
    {"random-bits", "any set bit (2006, section III)", .all_bits = true,
     .run = um_run_random_bits},
    {"random", "a random bit of each key (2006)", CLEARS(random, false)},
    {"min-fn", "the bit with the fewest members (2006)", CLEARS(min_fn, false)},
    {"max-fp", "the bit with the most keys (2006)", CLEARS(max_fp, false)},
    {"ratio", "the bit with the fewest members a key (2006)",
     CLEARS(ratio, false)},
    {"min-fn-tracked", "min-fn with counts kept up to date (2010)",
     CLEARS(min_fn, true)},
    {"max-fp-tracked", "max-fp with counts kept up to date (2010)",
     CLEARS(max_fp, true)},
    {"ratio-tracked", "ratio with counts kept up to date (2010)",
     CLEARS(ratio, true)},
};

const um_method *um_method_row(size_t i)
{
    return i < UM_COUNT(rows) ? &rows[i] : NULL;
}

const um_method *um_method_find(const char *name)
{
    const um_method *row;

    for (size_t i = 0; (row = um_method_row(i)); i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

bool umbel_retouch_method_at(size_t i, const char **name, const char **summary)
{
    const um_method *row = um_method_row(i);

    if (!row)
        return false;
    *name = row->name;
    if (summary)
        *summary = row->summary;
    return true;
}
