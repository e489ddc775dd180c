/*
 * suggest.c - how many letters must change to make one name of another.
 *
 * A letter put in, left out or exchanged is an edit, and so are two neighbours
 * that changed places: the typing mistakes of people (Damerau 1964).
 */
#include "cli/framework/suggest.h"

#include <string.h>

enum { MOST = 24 }; /* letters: longer names are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edits(const char *a, size_t na, const char *b, size_t nb)
{
    size_t at[MOST + 1][MOST + 1];

    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            at[i][j] = i ? i : j;
            if (!i || !j)
                continue;
            at[i][j] = least(least(at[i - 1][j], at[i][j - 1]) + 1,
                             at[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                at[i][j] = least(at[i][j], at[i - 2][j - 2] + 1);
        }
    return at[na][nb];
}

void um_suggest(um_suggestion *best, const char *typed, size_t len,
                const char *name)
{
    size_t allowed = len > 4 ? 2 : 1, n = strlen(name);

    if (len < 2 || len > MOST || n > MOST)
        return;
    size_t now = edits(typed, len, name, n);
    if (now <= allowed && (!best->name || now < best->edits))
        *best = (um_suggestion){name, now};
}
