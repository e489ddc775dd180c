/*
 * record.h - what a reproduction found: checks, figures, sheets, remarks.
 *
 * A run only appends. Running out of memory is remembered and asked for once,
 * so that a run reads straight.
 */
#ifndef UM_PAPERS_RECORD_H
#define UM_PAPERS_RECORD_H

#include <stdbool.h>
#include <stddef.h>

enum { UM_TEXT_LEN = 96, UM_NOTE_LEN = 400 };

/* A value that was checked. It passes when low <= ours <= high. */
typedef struct um_check {
    char item[UM_TEXT_LEN];
    double paper; /* NAN: the paper gives none, the bar is ours */
    double ours;
    double error;     /* standard error of ours; NAN: not known */
    double z;         /* joint standard errors from there; NAN likewise */
    double low, high; /* infinite: open on that side */
    bool fitted;      /* the paper's number went into a parameter of ours */
    bool pass;
    char note[UM_NOTE_LEN];
} um_check;

typedef struct um_point {
    double x, y;
    double error; /* standard error; NAN or 0: no bar is drawn */
} um_point;

typedef struct um_curve {
    char name[UM_TEXT_LEN];
    bool faint; /* drawn dashed: a reference, not a result */
    bool dots;  /* marks without a line, in the colour of the curve before */
    um_point *point;
    size_t n, cap;
} um_curve;

typedef struct um_figure {
    char id[UM_TEXT_LEN]; /* names its files */
    char title[UM_TEXT_LEN], x[UM_TEXT_LEN], y[UM_TEXT_LEN];
    bool log_x, log_y;
    um_curve *curve;
    size_t n, cap;
} um_figure;

typedef struct um_cell {
    char text[UM_TEXT_LEN];
} um_cell;

/* An erratum, or "our reading". */
typedef struct um_remark {
    char text[4 * UM_NOTE_LEN];
} um_remark;

/* A table of texts. */
typedef struct um_sheet {
    char id[UM_TEXT_LEN], title[UM_TEXT_LEN];
    size_t columns;
    um_cell *cell; /* the first `columns` of them are the heads */
    size_t n, cap;
} um_sheet;

typedef struct um_record {
    um_check *check;
    size_t nchecks, checks_cap;
    um_figure *figure;
    size_t nfigures, figures_cap;
    um_sheet *sheet;
    size_t nsheets, sheets_cap;
    um_remark *note;
    size_t nnotes, notes_cap;
    bool bad; /* out of memory */
} um_record;

void um_record_fini(um_record *r);

/* Appends c and decides whether it passes. */
void um_record_check(um_record *r, um_check c);
/* How many of them do not. */
size_t um_record_failed(const um_record *r);

/*
 * A new figure, curve or sheet. Valid until the next of its sort; NULL, which
 * the functions below accept, when memory ran out.
 */
um_figure *um_record_figure(um_record *r, const char *id, const char *title,
                            const char *x, const char *y);
um_curve *um_figure_curve(um_record *r, um_figure *f, const char *name);
void um_curve_point(um_record *r, um_curve *c, double x, double y,
                    double error);

/* heads: texts up to NULL. */
um_sheet *um_record_sheet(um_record *r, const char *id, const char *title,
                          const char *const *heads);
/* The next cell, from left to right and down. */
void um_sheet_cell(um_record *r, um_sheet *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void um_record_note(um_record *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
