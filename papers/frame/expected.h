/*
 * expected.h - papers/PAPER/NAME/expected.csv, compiled in.
 *
 * A row:
 *
 *   item,paper,reference,sd,rounds,slack,low,high,mark,note
 *
 * item names the value. paper is what the paper prints, empty when it prints
 * none. When low or high is given, it is the bar. Else ours must lie around the
 * reference (or, without one, the paper's value) within five joint standard
 * errors and slack: sd is the spread of one round, rounds what the reference
 * rests on; without sd our own standard error is taken. A mean that the paper
 * prints with its sd and rounds has the slack of its rounding, half a unit of
 * the last digit, unless the row has another. mark is "fitted", "timed"
 * (checked only with --timed), "spread" (only with two rounds or more), "shown"
 * (printed beside ours, never checked: nothing that can be measured would fail
 * it) or empty. There is no mark for what is known not to come out: it fails.
 * Lines with # are comments.
 */
#ifndef UM_PAPERS_EXPECTED_H
#define UM_PAPERS_EXPECTED_H

#include "papers/frame/record.h"

typedef struct um_expected {
    char item[UM_TEXT_LEN];
    double paper, reference, sd, rounds, slack, low, high; /* NAN: empty */
    double sd_slack; /* half a unit of the last digit of sd */
    bool fitted, timed, spread, shown;
    char note[UM_NOTE_LEN];
} um_expected;

/* The files, made by the build from papers/PAPER/NAME/expected.csv; NULL name
 * ends.
 */
typedef struct um_expected_file {
    const char *name, *text;
} um_expected_file;
extern const um_expected_file um_expected_files[];

/* NULL: not found. */
const char *um_expected_text(const char *name);

/*
 * What the seeds gave together, from the line "# verdict: ..." of the file:
 * a verdict that changes with the seed is "does not come out". papers/README.md
 * has the same (tests/tree/papers). "" when there is no such line.
 */
void um_expected_verdict(const char *name, char out[UM_TEXT_LEN]);

/*
 * The next row of *text, which moves on; false at its end. A row that cannot be
 * read comes with the item "line ..." and no numbers, which no value can pass.
 */
bool um_expected_next(const char **text, um_expected *out);
bool um_expected_find(const char *text, const char *item, um_expected *out);

/* What ours is held against: the reference, or the paper's value. */
double um_expected_centre(const um_expected *e);
/* Half a unit of the last digit of a printed number: "2.019e-2" gives 5e-6. */
double um_half_unit(const char *printed);
/* low and high, UM_Z_LIMIT joint errors around it, for a value of that standard
 * error from that many rounds. other is the standard error of a source of
 * chance that is the same in all rounds. */
void um_expected_bar(const um_expected *e, double error, double rounds,
                     double other, double *low, double *high);

#endif
