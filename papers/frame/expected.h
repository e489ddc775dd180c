/*
 * expected.h - papers/PAPER/NAME/expected.csv, compiled in.
 *
 * A row:
 *
 *   item,paper,reference,sd,rounds,slack,low,high,mark,note
 *
 * item names the value. paper is the printed value, empty if it has none. If
 * low or high is set, it bounds the interval. Otherwise ours must be within
 * five joint standard errors plus slack of the reference (or, without one, of
 * the paper's value): sd is the standard deviation of one round, rounds the
 * number of rounds of the reference; without sd our own standard error is used.
 * For a mean that the paper prints with sd and rounds, slack defaults to its
 * rounding, half a unit of the last digit. mark is empty or has words:
 * "fitted", "timed" (checked only with --timed), "spread" (only with two rounds
 * or more), "shown" (printed next to ours, but never checked, because no
 * measurement could fail it), "errata" (other numbers of the paper contradict
 * this one: it is compared, but the verdict does not depend on it), "share"
 * (values above 1 are impossible), "percent" (above 100), "ratio" (they are
 * possible), "signed" (negative values are possible). There is no mark for
 * values that are known not to come out: they fail. Lines with # are comments.
 */
#ifndef UM_PAPERS_EXPECTED_H
#define UM_PAPERS_EXPECTED_H

#include "papers/frame/record.h"

typedef struct um_expected {
    char item[UM_TEXT_LEN];
    double paper, reference, sd, rounds, slack, low, high; /* NAN if empty */
    double sd_slack; /* half a unit of the last digit of sd */
    bool fitted, timed, spread, shown, errata, share, percent, ratio, is_signed;
    char note[UM_NOTE_LEN];
} um_expected;

/* The files, compiled from papers/PAPER/NAME/expected.csv; a NULL name ends the
 * array. */
typedef struct um_expected_file {
    const char *name, *text;
} um_expected_file;
extern const um_expected_file um_expected_files[];

/* Returns the text of the file, or NULL. */
const char *um_expected_text(const char *name);

/*
 * Copies the verdict over several seeds from the line "# verdict: ..." of the
 * file, or "": one that changes with the seed is "does not come out".
 * papers/README.md has the same verdicts (tests/tree/papers checks that).
 */
void um_expected_verdict(const char *name, char out[UM_TEXT_LEN]);

/*
 * Parses the next row and advances *text; false at the end. A malformed row
 * gets the item "line ..." and no numbers, so that no value can pass it.
 */
bool um_expected_next(const char **text, um_expected *out);
bool um_expected_find(const char *text, const char *item, um_expected *out);

/* Returns the value that ours is compared with: the reference, or the
 * paper's. */
double um_expected_centre(const um_expected *e);
/* Returns half a unit of the last digit of a printed number: 5e-6 for
 * "2.019e-2". */
double um_half_unit(const char *printed);
/* Computes the interval: UM_Z_LIMIT joint errors around the centre, for a value
 * with that standard error from that many rounds. other is the standard error
 * of randomness that all rounds share. */
void um_expected_bar(const um_expected *e, double error, double rounds,
                     double other, double *low, double *high);
/* Cuts off the part of an interval that no value can have. */
void um_expected_clip(const um_expected *e, double *low, double *high);

#endif
