/*
 * smaller.c - what the default costs: the same keys and error in fewer bytes.
 *
 * The default addressing answers with one access to memory, and that takes
 * room. Users who transfer the file rather than query it want to know.
 */
#include "cli/framework/report.h"

#include <umbel/plan.h>

#include <stdio.h>
#include <string.h>

typedef struct smallest {
    const char *name; /* NULL: none is smaller */
    uint64_t bytes;
} smallest;

/* Takes the set over if it needs fewer bytes. */
static void consider(smallest *best, const char *kind, const char *addressing,
                     uint64_t keys, double fpr)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_plan plan;

    p.addressing = addressing;
    p.capacity = keys;
    p.fpr = fpr;
    if (umbel_make_plan(kind, &p, 0, &plan, NULL) || plan.bytes >= best->bytes)
        return;
    *best = (smallest){kind ? kind : addressing, plan.bytes};
}

/* Appends how much s saves, if it is worth a word. */
static void write_saving(char *text, size_t cap, const char *option,
                         const smallest *s, uint64_t bytes, const char *but)
{
    size_t len = strlen(text);
    double saved = 100 * (1 - (double)s->bytes / (double)bytes);

    if (s->name && saved >= 1)
        snprintf(text + len, cap - len, "%s%s %s is %.0f %% smaller%s",
                 len ? ", " : "", option, s->name, saved, but);
}

void um_note_smaller(um_report *r, uint64_t keys, double fpr, uint64_t bytes,
                     double least)
{
    enum { PAGE = 4096 }; /* less is not worth a sentence */
    smallest spread = {NULL, bytes}, fixed = {NULL, bytes};
    const char *kind;
    char text[256] = "";

    /* Keys anywhere in the filter; other addressings serve other purposes. */
    consider(&spread, NULL, "classic", keys, fpr);
    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++)
        if (umbel_is_static(kind))
            consider(&fixed, kind, NULL, keys, fpr);
    uint64_t best = fixed.bytes < spread.bytes ? fixed.bytes : spread.bytes;
    if (bytes - best < PAGE || (double)(bytes - best) <= least * (double)bytes)
        return;
    write_saving(text, sizeof text, "--addressing", &spread, bytes, "");
    write_saving(text, sizeof text, "--kind", &fixed, bytes, " (static)");
    um_report_note(r, "Same error: %s.", text);
}
