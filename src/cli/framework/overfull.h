/*
 * overfull.h - filters whose error is above the one that they were built for.
 */
#ifndef UM_CLI_OVERFULL_H
#define UM_CLI_OVERFULL_H

#include "cli/framework/report.h"

/* --strict, for commands that write filters. */
typedef struct um_strict_args {
    bool strict;
} um_strict_args;
extern const um_option um_strict_options[];

/* A filter that is about to be written. */
typedef struct um_new_filter {
    const umbel_filter *filter;
    bool strict;       /* of um_strict_args */
    bool sized;        /* its size was requested, not its error */
    uint64_t keys;     /* capacity to suggest */
    bool counted;      /* keys is not less than the number of its keys */
    const char *build; /* beginning of the advice: "build it" */
} um_new_filter;

/*
 * Checks the error of a filter before it is written. If it is more than 1.2
 * times the one that the filter was built for, because there are more keys than
 * its capacity or the size was given and is too small, warns on standard error,
 * even with --quiet; JSON gets the sentence as a note, too. The same for an
 * error above 50 % that nobody requested. If chance made the blocks of a small
 * filter uneven, adds a note.
 *
 * With --strict the filter is refused in all these cases, E_REFUSED with the
 * detail UMBEL_D_OVERFULL; with more keys than its capacity, any error above
 * the requested one is refused.
 */
umbel_status um_check_overfull(const um_args *args, const um_new_filter *n,
                               um_report *r, umbel_error *err);
/* Returns true if readers refuse the filter unless they allow more than 50 %,
 * and it has no counts that may serve nevertheless. */
bool um_is_useless(const umbel_filter *f);

#endif
