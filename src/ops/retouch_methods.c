/*
 * retouch_methods.c - the methods of retouching. A new one is a line here.
 *
 * The first five are those of the paper of 2006; its section III is
 * random-bits. "tracked" is our reading of the paper of 2010, of which we have
 * only the first pages: it says that its algorithms follow more carefully how
 * many false negatives and false positives each step makes.
 */
#include "ops/retouch.h"

static const um_method rows[] = {
    {.name = "greedy",
     .summary = "members by what each removes, then restore (default)",
     .closes = true,
     .run = um_run_greedy},
    {.name = "anneal",
     .summary = "greedy, then try members at random (--moves, --time)",
     .closes = true,
     .run = um_run_anneal},
    {.name = "random-bits",
     .summary = "any set bit (2006, section III)",
     .all_bits = true,
     .run = um_run_random_bits},
    {.name = "random",
     .summary = "a random bit of each key (2006)",
     .pick = um_pick_random,
     .run = um_run_paper},
    {.name = "min-fn",
     .summary = "the bit with the fewest members (2006)",
     .pick = um_pick_min_fn,
     .run = um_run_paper},
    {.name = "max-fp",
     .summary = "the bit with the most keys (2006)",
     .pick = um_pick_max_fp,
     .run = um_run_paper},
    {.name = "ratio",
     .summary = "the bit with the fewest members a key (2006)",
     .pick = um_pick_ratio,
     .run = um_run_paper},
    {.name = "min-fn-tracked",
     .summary = "min-fn with counts kept up to date (2010)",
     .tracked = true,
     .pick = um_pick_min_fn,
     .run = um_run_paper},
    {.name = "max-fp-tracked",
     .summary = "max-fp with counts kept up to date (2010)",
     .tracked = true,
     .pick = um_pick_max_fp,
     .run = um_run_paper},
    {.name = "ratio-tracked",
     .summary = "ratio with counts kept up to date (2010)",
     .tracked = true,
     .pick = um_pick_ratio,
     .run = um_run_paper},
};

const um_method *um_method_row(size_t i)
{
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
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
