/*
 * record.h - the results of a reproduction: checks, figures, sheets, remarks.
 *
 * A run only appends. If memory runs out, the record stores that, and
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
    double paper; /* NAN if the paper has none; then the interval is ours */
    double ours;
    double error;     /* standard error of ours; NAN if unknown */
    double z;         /* distance from the expected value in joint standard
                         errors; NAN if unknown */
    double low, high; /* infinite if open on that side */
    bool fitted;      /* the paper's number was used to fit a parameter */
    bool quoted;      /* the paper prints it, and a bare reproduction is tested
                         with it: fitted only if this run has a fitted world */
    bool errata;      /* other numbers of the paper contradict it */
    /* Possible values: negative ones; none above 1; none above 100; any. */
    bool is_signed, share, percent, ratio;
    bool impossible; /* the interval contains others */
    bool weak; /* twice the expected value, or half of it, would pass, too */
    bool pass;
    unsigned refuses; /* wrong results that fail it: one bit for each way */
    char note[UM_NOTE_LEN];
} um_check;

/* An erratum of the paper, or a note on how we read it. */
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
    bool few;     /* fewer rounds than the reported run has */
    double spoil; /* factor applied to checked values, to make them wrong; 0 for
                     none, -1 only for rises and falls, whose bound is 0 */
} um_record;

void um_record_fini(um_record *r);
/* Returns true if memory ran out for any part. */
bool um_record_bad(const um_record *r);

/*
 * Appends c, and sets whether it passes. An interval that contains impossible
 * values, such as negative rates, is refused: it comes from a distribution that
 * does not fit. With few rounds it is weak, otherwise it fails.
 */
void um_record_check(um_record *r, um_check c);
/* Counts of the checks. A weak one that is within its interval does not count
 * as passed, because a wrong result would be, too. One that fails where the
 * paper contradicts itself counts as erratum. */
typedef struct um_verdicts {
    size_t passed, failed, weak, errata;
} um_verdicts;
um_verdicts um_record_verdicts(const um_record *r);
/* Returns true if the check counts as passed, but every wrong result that was
 * tried passes it, too. */
bool um_check_is_blind(const um_check *c);
/* Returns "pass", "FAIL", "weak" or "errata". */
const char *um_verdict(const um_check *c);

/* The conclusion of a study about its claim. */
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

/* Adds a remark: an erratum of the paper, or a note on how we read it. */
void um_record_note(um_record *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
