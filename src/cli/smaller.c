/*
 * smaller.c - what the default costs: the same keys and error in fewer bytes.
 *
 * The default addressing answers with one access to memory, and that takes
 * room. Users who transfer the file rather than query it want to know.
 */
#include "cli/report.h"

#include <umbel/plan.h>

#include <stdio.h>
#include <string.h>

typedef struct smallest {
    const char *name; /* NULL: none is smaller */
    uint64_t bytes;
} smallest;

static void consider(smallest *best, const char *name, const char *kind,
                     const umbel_params *params)
{
    umbel_plan plan;

    if (umbel_make_plan(kind, params, 0, &plan, NULL) ||
        plan.bytes >= best->bytes)
        return;
    best->name = name;
    best->bytes = plan.bytes;
}

/* Keys anywhere in the filter; other addressings serve other purposes. */
static smallest smallest_addressing(uint64_t keys, double fpr, uint64_t bytes)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    smallest best = {NULL, bytes};

    p.capacity = keys;
    p.fpr = fpr;
    p.addressing = "classic";
    consider(&best, p.addressing, NULL, &p);
    return best;
}

static smallest smallest_static(uint64_t keys, double fpr, uint64_t bytes)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    smallest best = {NULL, bytes};
    const char *kind;

    p.capacity = keys;
    p.fpr = fpr;
    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++)
        if (umbel_is_static(kind))
            consider(&best, kind, kind, &p);
    return best;
}

/* Appends how much s saves, if it is worth a word. */
static void put_saving(char *text, size_t cap, const char *option,
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
    smallest spread = smallest_addressing(keys, fpr, bytes);
    smallest fixed = smallest_static(keys, fpr, bytes);
    uint64_t best = fixed.bytes < spread.bytes ? fixed.bytes : spread.bytes;
    char text[256] = "";

    if (bytes - best < PAGE || (double)(bytes - best) <= least * (double)bytes)
        return;
    put_saving(text, sizeof text, "--addressing", &spread, bytes, "");
    put_saving(text, sizeof text, "--kind", &fixed, bytes, " (static)");
    um_report_note(r, "Same error: %s.", text);
}
