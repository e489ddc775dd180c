/*
 * retouch_methods.c - the methods of retouching. A new one is a line here.
 *
 * random-bits is section III of the paper of 2006, the four after it are its
 * selective clearing. "tracked" is our reading of the paper of 2010, of which
 * we have only the first pages: it says that its algorithms follow more
 * carefully how many false negatives and false positives each step makes.
 */
#include "base/error.h"
#include "negatives/retouch/retouch.h"

#define CLEARS(rule, follows, more)                                            \
    .pick = um_pick_##rule, .tracked = (follows),                              \
    .uses = UM_USES_CLOSURE | (more), .run = um_run_paper

static const um_method rows[] = {
    {"greedy", "lose the members that remove most, then restore some (default)",
     .uses = UM_USES_OUTSIDE, .closes = true, .run = um_run_greedy},
    {"anneal",
     "greedy, then lose and restore members at random (--moves, --time)",
     .uses = UM_USES_MOVES | UM_USES_SECONDS | UM_USES_OUTSIDE | UM_USES_SEED,
     .closes = true, .run = um_run_anneal},
    {"random-bits", "any set bit (2006, section III)",
     .uses = UM_USES_MOVES | UM_USES_CLOSURE | UM_USES_SEED, .all_bits = true,
     .run = um_run_random_bits},
    {"random", "a random bit of each key (2006)",
     CLEARS(random, false, UM_USES_SEED)},
    {"min-fn", "the bit with the fewest members (2006)",
     CLEARS(min_fn, false, 0)},
    {"max-fp", "the bit with the most keys (2006)",
     CLEARS(max_fp, false, UM_USES_OUTSIDE)},
    {"ratio", "the bit with the fewest members per key (2006)",
     CLEARS(ratio, false, UM_USES_OUTSIDE)},
    {"min-fn-tracked", "min-fn with counts kept up to date (2010)",
     CLEARS(min_fn, true, 0)},
    {"max-fp-tracked", "max-fp with counts kept up to date (2010)",
     CLEARS(max_fp, true, UM_USES_OUTSIDE)},
    {"ratio-tracked", "ratio with counts kept up to date (2010)",
     CLEARS(ratio, true, UM_USES_OUTSIDE)},
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
