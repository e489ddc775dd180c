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

enum { UM_WRONG_WAYS = 7 }; /* of wrong.c */

/* A value that was checked. It passes when low <= ours <= high. */
typedef struct um_check {
    char item[UM_TEXT_LEN];
    double paper; /* NAN: the paper gives none, the bar is ours */
    double ours;
    double error;     /* standard error of ours; NAN: not known */
    double z;         /* joint standard errors from there; NAN likewise */
    double low, high; /* infinite: open on that side */
    bool fitted;      /* the paper's number went into a parameter of ours */
    bool weak; /* twice the expected value, or half of it, would pass, too */
    bool pass;
    unsigned refuses; /* wrong results that fail it: a bit for each way */
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
    bool bad;     /* out of memory */
    double spoil; /* a factor of checked values, to make them wrong; 0: none,
                     -1: only of rises and falls, whose bound is 0 */
} um_record;

void um_record_fini(um_record *r);
/* Returns true if memory ran out for any part. */
bool um_record_bad(const um_record *r);

/* Appends c, and sets whether it passes. */
void um_record_check(um_record *r, um_check c);
/* How the checks ended. A weak one that lies in its interval is not counted as
 * passed: a wrong result would lie there, too. */
typedef struct um_verdicts {
    size_t passed, failed, weak;
} um_verdicts;
um_verdicts um_record_verdicts(const um_record *r);
/* Returns true if the check counts as passed, and each wrong result that was
 * tried passes it, too. */
bool um_check_is_blind(const um_check *c);
/* Returns "pass", "FAIL" or "weak". */
const char *um_verdict(const um_check *c);

/* What a study says about its claim. */
typedef enum um_outcome {
    UM_HOLDS,
    UM_HOLDS_WITH_REMARKS, /* something is fitted, weak, or an erratum */
    UM_DOES_NOT_COME_OUT,
    UM_NOT_CHECKED /* too few rounds for any interval */
} um_outcome;
um_outcome um_record_outcome(const um_record *r);
/* Returns "holds", "holds with remarks", "does not come out", "not checked". */
const char *um_outcome_name(um_outcome o);

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
