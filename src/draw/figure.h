/*
 * figure.h - figures made of series, and tables of text.
 *
 * Points, series and cells are only appended. If memory runs out, the figure or
 * sheet is marked and ignores further calls, so that callers need to check only
 * once, at the end: um_figure_bad, um_sheet.bad.
 */
#ifndef UM_DRAW_FIGURE_H
#define UM_DRAW_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

enum { UM_TEXT_LEN = 96 };

typedef struct um_point {
    double x, y;
    double error; /* standard error; NaN or 0: no error bar */
} um_point;

typedef struct um_series {
    char name[UM_TEXT_LEN];
    bool faint;    /* dashed: a reference, not a result */
    bool dots;     /* marks without a line, in the previous series' colour */
    bool rings;    /* the marks are rings: values from elsewhere */
    bool unlisted; /* not in the legend */
    bool named;    /* one point, with the name beside it, not in the legend */
    bool bad;      /* out of memory */
    um_point *point;
    size_t n, cap;
} um_series;

typedef struct um_figure {
    char id[UM_TEXT_LEN]; /* stem of its file names */
    char title[UM_TEXT_LEN], x[UM_TEXT_LEN], y[UM_TEXT_LEN];
    bool log_x, log_y;
    bool bad; /* out of memory for a series */
    um_series *series;
    size_t n, cap;
} um_figure;

typedef struct um_cell {
    char text[UM_TEXT_LEN];
} um_cell;

/* A table of texts. */
typedef struct um_sheet {
    char id[UM_TEXT_LEN], title[UM_TEXT_LEN];
    size_t columns;
    bool bad;      /* out of memory */
    um_cell *cell; /* row by row; the first row has the headings */
    size_t n, cap;
} um_sheet;

/* Starts an empty figure; x and y label its axes. */
void um_figure_init(um_figure *f, const char *id, const char *title,
                    const char *x, const char *y);
void um_figure_fini(um_figure *f);

/*
 * Adds a series and returns it, valid until the next one is added. Returns
 * NULL, which um_series_point accepts, if memory runs out or f is NULL.
 */
um_series *um_figure_series(um_figure *f, const char *name);
void um_series_point(um_series *c, double x, double y, double error);

/* Returns true if memory ran out for a series or a point. */
bool um_figure_bad(const um_figure *f);

/* Starts a table with these headings, up to NULL. */
void um_sheet_init(um_sheet *s, const char *id, const char *title,
                   const char *const *heads);
void um_sheet_fini(um_sheet *s);

/* Adds the next cell, from left to right and down; s may be NULL. */
void um_sheet_cell(um_sheet *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
