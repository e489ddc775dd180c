/*
 * confirmed.h - publish --never: what readers found to match falsely is taken
 * back before they get the filter.
 */
#ifndef UM_CLI_CONFIRMED_H
#define UM_CLI_CONFIRMED_H

#include "cli/command.h"

/* What came of it. */
typedef struct um_taken_back {
    uint64_t matched; /* different keys of the lists that matched */
    uint64_t left;    /* of them that still do: it would cost too much */
    uint64_t members; /* of the lists that are members, and stay */
    uint64_t lost;    /* members that are denied for it */
} um_taken_back;

/*
 * Retouch f so that the keys of --never match no more, as far as 1 % of
 * --members pay for. Readers may be wrong: keys that are members are named on
 * standard error and left as they are.
 */
umbel_status um_take_back(const um_args *args, umbel_filter *f,
                          um_taken_back *out, umbel_error *err);

/*
 * Some lines about it, for name: what it cost, and the command that makes a
 * filter in which it costs no member.
 */
void um_tell_taken_back(FILE *out, const char *name, const um_args *args,
                        const umbel_filter *f, const um_taken_back *t);

#endif
