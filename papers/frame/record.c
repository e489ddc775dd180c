/*
 * record.c - what a reproduction found, in arrays that grow.
 */
#include "papers/frame/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element; returns the array, or NULL. */
static void *grown(um_record *r, void *array, size_t n, size_t *cap,
                   size_t size)
{
    if (r->bad)
        return NULL;
    if (n < *cap)
        return array;
    size_t more = *cap ? 2 * *cap : 8;
    void *larger = realloc(array, more * size);
    if (larger)
        *cap = more;
    else
        r->bad = true;
    return larger;
}

void um_record_check(um_record *r, um_check c)
{
    um_check *array =
        grown(r, r->check, r->nchecks, &r->checks_cap, sizeof *array);

    if (!array)
        return;
    c.pass = c.low <= c.ours && c.ours <= c.high; /* a NAN does not */
    r->check = array;
    r->check[r->nchecks++] = c;
}

um_verdicts um_record_verdicts(const um_record *r)
{
    um_verdicts v = {0};

    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        ++*(c->pass ? &v.passed : c->differs ? &v.differing : &v.failed);
    }
    return v;
}

const char *um_verdict(const um_check *c)
{
    return c->pass ? "pass" : c->differs ? "differs" : "FAIL";
}

um_figure *um_record_figure(um_record *r, const char *id, const char *title,
                            const char *x, const char *y)
{
    um_figure *array =
        grown(r, r->figure, r->nfigures, &r->figures_cap, sizeof *array);

    if (!array)
        return NULL;
    r->figure = array;
    um_figure *f = &r->figure[r->nfigures++];
    um_figure_init(f, id, title, x, y);
    return f;
}

um_sheet *um_record_sheet(um_record *r, const char *id, const char *title,
                          const char *const *heads)
{
    um_sheet *array =
        grown(r, r->sheet, r->nsheets, &r->sheets_cap, sizeof *array);

    if (!array)
        return NULL;
    r->sheet = array;
    um_sheet *s = &r->sheet[r->nsheets++];
    um_sheet_init(s, id, title, heads);
    return s;
}

void um_record_note(um_record *r, const char *format, ...)
{
    um_remark *array =
        grown(r, r->note, r->nnotes, &r->notes_cap, sizeof *array);
    va_list list;

    if (!array)
        return;
    r->note = array;
    um_remark *note = &array[r->nnotes++];
    va_start(list, format);
    vsnprintf(note->text, sizeof note->text, format, list);
    va_end(list);
}

bool um_record_bad(const um_record *r)
{
    bool bad = r->bad;

    for (size_t i = 0; i < r->nfigures; i++)
        bad |= um_figure_bad(&r->figure[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        bad |= r->sheet[i].bad;
    return bad;
}

void um_record_fini(um_record *r)
{
    for (size_t i = 0; i < r->nfigures; i++)
        um_figure_fini(&r->figure[i]);
    for (size_t i = 0; i < r->nsheets; i++)
        um_sheet_fini(&r->sheet[i]);
    free(r->note);
    free(r->check);
    free(r->figure);
    free(r->sheet);
    memset(r, 0, sizeof *r);
}
