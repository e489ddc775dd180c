/*
 * record.h - what a reproduction found: checks, figures, sheets, remarks.
 *
 * A run only appends. If memory runs out, the record remembers it, and
 * um_record_bad is called once, at the end.
 */
#ifndef UM_PAPERS_RECORD_H
#define UM_PAPERS_RECORD_H

#include "draw/figure.h"

enum { UM_NOTE_LEN = 400 };

/* A value that was checked. It passes when low <= ours <= high. */
typedef struct um_check {
    char item[UM_TEXT_LEN];
    double paper; /* NAN: the paper gives none, the bar is ours */
    double ours;
    double error;     /* standard error of ours; NAN: not known */
    double z;         /* joint standard errors from there; NAN likewise */
    double low, high; /* infinite: open on that side */
    bool fitted;      /* the paper's number went into a parameter of ours */
    bool differs;     /* known not to be reproduced: no failure */
    bool pass;
    char note[UM_NOTE_LEN];
} um_check;

/* An erratum of the paper, or how we read it. */
typedef struct um_remark {
    char text[4 * UM_NOTE_LEN];
} um_remark;

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
/* Returns true if memory ran out for any part. */
bool um_record_bad(const um_record *r);

/* Appends c, and sets whether it passes. */
void um_record_check(um_record *r, um_check c);
/* How the checks ended. Those marked "differs" count as passed only when they
 * do agree, and never as failed. */
typedef struct um_verdicts {
    size_t passed, failed, differing;
} um_verdicts;
um_verdicts um_record_verdicts(const um_record *r);
/* Returns "pass", "FAIL" or "differs". */
const char *um_verdict(const um_check *c);

/*
 * Adds a figure or sheet and returns it, valid until the next one is added.
 * Returns NULL, which um_figure_series and um_sheet_cell accept, if memory ran
 * out.
 */
um_figure *um_record_figure(um_record *r, const char *id, const char *title,
                            const char *x, const char *y);
um_sheet *um_record_sheet(um_record *r, const char *id, const char *title,
                          const char *const *heads);

/* Adds a remark: an erratum of the paper, or how we read it. */
void um_record_note(um_record *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
