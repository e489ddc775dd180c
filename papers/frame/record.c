/*
 * record.c - arrays that grow, and a flag when they cannot.
 */
#include "papers/frame/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of size bytes; gives the array, or NULL. */
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

static void copy_text(char out[UM_TEXT_LEN], const char *text)
{
    snprintf(out, UM_TEXT_LEN, "%s", text);
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

size_t um_record_failed(const um_record *r)
{
    size_t failed = 0;

    for (size_t i = 0; i < r->nchecks; i++)
        failed += !r->check[i].pass;
    return failed;
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
    memset(f, 0, sizeof *f);
    copy_text(f->id, id);
    copy_text(f->title, title);
    copy_text(f->x, x);
    copy_text(f->y, y);
    return f;
}

um_curve *um_figure_curve(um_record *r, um_figure *f, const char *name)
{
    um_curve *array =
        f ? grown(r, f->curve, f->n, &f->cap, sizeof *array) : NULL;

    if (!array)
        return NULL;
    f->curve = array;
    um_curve *c = &f->curve[f->n++];
    memset(c, 0, sizeof *c);
    copy_text(c->name, name);
    return c;
}

void um_curve_point(um_record *r, um_curve *c, double x, double y, double error)
{
    um_point *array =
        c ? grown(r, c->point, c->n, &c->cap, sizeof *array) : NULL;

    if (!array)
        return;
    c->point = array;
    c->point[c->n++] = (um_point){x, y, error};
}

static um_cell *next_cell(um_record *r, um_sheet *s)
{
    um_cell *array = grown(r, s->cell, s->n, &s->cap, sizeof *array);

    if (!array)
        return NULL;
    s->cell = array;
    return &array[s->n++];
}

um_sheet *um_record_sheet(um_record *r, const char *id, const char *title,
                          const char *const *heads)
{
    um_sheet s = {.columns = 0};

    copy_text(s.id, id);
    copy_text(s.title, title);
    for (; heads[s.columns]; s.columns++) {
        um_cell *head = next_cell(r, &s);
        if (head)
            copy_text(head->text, heads[s.columns]);
    }
    um_sheet *array =
        grown(r, r->sheet, r->nsheets, &r->sheets_cap, sizeof *array);
    if (!array) {
        free(s.cell);
        return NULL;
    }
    r->sheet = array;
    array[r->nsheets] = s;
    return &array[r->nsheets++];
}

void um_sheet_cell(um_record *r, um_sheet *s, const char *format, ...)
{
    um_cell *cell = s ? next_cell(r, s) : NULL;
    va_list list;

    if (!cell)
        return;
    va_start(list, format);
    vsnprintf(cell->text, sizeof cell->text, format, list);
    va_end(list);
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

void um_record_fini(um_record *r)
{
    for (size_t i = 0; i < r->nfigures; i++) {
        for (size_t j = 0; j < r->figure[i].n; j++)
            free(r->figure[i].curve[j].point);
        free(r->figure[i].curve);
    }
    for (size_t i = 0; i < r->nsheets; i++)
        free(r->sheet[i].cell);
    free(r->note);
    free(r->check);
    free(r->figure);
    free(r->sheet);
    memset(r, 0, sizeof *r);
}
