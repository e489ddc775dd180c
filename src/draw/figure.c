/*
 * figure.c - growing arrays of points, series and cells.
 */
#include "draw/figure.h"

#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reserves space for one more element; on failure sets *bad and returns
 * false. */
static bool grow(void **array, size_t n, size_t *cap, size_t size, bool *bad)
{
    if (*bad || n < *cap)
        return !*bad;
    *bad = !um_array_reserve(array, cap, n + 1, size);
    return !*bad;
}

static void copy_text(char out[UM_TEXT_LEN], const char *text)
{
    snprintf(out, UM_TEXT_LEN, "%s", text);
}

void um_figure_init(um_figure *f, const char *id, const char *title,
                    const char *x, const char *y)
{
    memset(f, 0, sizeof *f);
    copy_text(f->id, id);
    copy_text(f->title, title);
    copy_text(f->x, x);
    copy_text(f->y, y);
}

void um_figure_fini(um_figure *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->series[i].point);
    free(f->series);
    memset(f, 0, sizeof *f);
}

um_series *um_figure_series(um_figure *f, const char *name)
{
    void *array = f ? f->series : NULL;

    if (!f || !grow(&array, f->n, &f->cap, sizeof *f->series, &f->bad))
        return NULL;
    f->series = array;
    um_series *c = &f->series[f->n++];
    memset(c, 0, sizeof *c);
    copy_text(c->name, name);
    return c;
}

void um_series_point(um_series *c, double x, double y, double error)
{
    void *array = c ? c->point : NULL;

    if (!c || !grow(&array, c->n, &c->cap, sizeof *c->point, &c->bad))
        return;
    c->point = array;
    c->point[c->n++] = (um_point){x, y, error};
}

bool um_figure_bad(const um_figure *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->series[i].bad)
            return true;
    return f->bad;
}

static um_cell *next_cell(um_sheet *s)
{
    void *array = s->cell;

    if (!grow(&array, s->n, &s->cap, sizeof *s->cell, &s->bad))
        return NULL;
    s->cell = array;
    return &s->cell[s->n++];
}

void um_sheet_init(um_sheet *s, const char *id, const char *title,
                   const char *const *heads)
{
    memset(s, 0, sizeof *s);
    copy_text(s->id, id);
    copy_text(s->title, title);
    for (; heads[s->columns]; s->columns++)
        um_sheet_cell(s, "%s", heads[s->columns]);
}

void um_sheet_fini(um_sheet *s)
{
    free(s->cell);
    memset(s, 0, sizeof *s);
}

void um_sheet_cell(um_sheet *s, const char *format, ...)
{
    um_cell *cell = s ? next_cell(s) : NULL;
    va_list list;

    if (!cell)
        return;
    va_start(list, format);
    vsnprintf(cell->text, sizeof cell->text, format, list);
    va_end(list);
}
